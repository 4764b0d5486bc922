// The map on the screen: drawn by Phaser, in WebGL where that is quick, else on a canvas. Labels and bubbles lie above it
// as elements of the page, so that they are text, sharp at every size, and reached by keyboard.

import type Phaser from "phaser";
import type { Actor } from "./actors";
import { Actors, MOST } from "./actors";
import type { Plan } from "./plan";

type PhaserModule = typeof Phaser;

const FRAME = { frameWidth: 16, frameHeight: 20 };
const SLOW = 24; // frames a second below which WebGL is given up
const MEASURED = 45; // frames until that is judged
const DOT = 6;
const MEADOW = [143, 191, 106];
const NIGHT = [16, 24, 56];
const COLORS: Record<string, string> = { emergency: "#d92d20", urgent: "#f59e0b", routine: "#2e9e5b" };

export interface Drawn {
  actors: Iterable<Actor>;
  acuity(who: string): string | null;
  hour: number;
  chosen: string;
}

export interface Look {
  x: number; // the middle of what is seen, in tiles
  y: number;
  zoom: number; // pixels of the screen for one of the map
}

/** What Phaser draws in: one map, as it is at this moment. */
export class Stage {
  renderer = "";
  /** Frames a second, the mean of the last ones. */
  rate = 0;
  look: Look = { x: 0, y: 0, zoom: 1 };
  onLook: () => void = () => {};
  private game: Phaser.Game | undefined;
  private scene: Phaser.Scene | undefined;
  private pool: Phaser.GameObjects.Image[] = [];
  private dots: Phaser.GameObjects.Image[] = [];
  private night: Phaser.GameObjects.Image | undefined;
  private ring: Phaser.GameObjects.Image | undefined;
  private frames = 0;
  private waiting: Drawn | undefined;
  private readonly size: number;
  private readonly watched: ResizeObserver;
  private fitted = true;
  private dark = -1;
  private resting = false;

  constructor(
    private readonly phaser: PhaserModule,
    readonly element: HTMLElement,
    readonly plan: Plan,
    private readonly tiles: HTMLImageElement,
    wish: string | null,
  ) {
    this.size = plan.map.tilewidth;
    this.watched = new ResizeObserver(() => this.resize());
    this.watched.observe(element);
    void this.start(wish === "canvas" || (wish !== "webgl" && isSoftware()) ? phaser.CANVAS : phaser.WEBGL, wish === null);
    this.fit();
  }

  close(): void {
    this.watched.disconnect();
    this.game?.destroy(true);
  }

  private async start(type: number, measure: boolean): Promise<void> {
    this.frames = 0;
    const stage = this;
    const ground = this.painted();
    const night = this.darkened();
    const size = this.size;
    const scene = {
      key: "town",
      preload(this: Phaser.Scene) {
        this.load.spritesheet("people", "town/people.png", FRAME);
      },
      create(this: Phaser.Scene) {
        stage.pool = [];
        stage.dots = [];
        this.textures.addCanvas("ground", ground);
        this.textures.addCanvas("night", night)?.setFilter(stage.phaser.Textures.FilterMode.LINEAR);
        for (const [name, color] of Object.entries(COLORS)) this.textures.addCanvas(name, dot(name, color));
        this.textures.addCanvas("ring", ring());
        this.add.image(0, 0, "ground").setOrigin(0, 0);
        stage.ring = this.add.image(0, 0, "ring").setVisible(false).setDepth(1);
        stage.night = this.add.image(0, 0, "night").setOrigin(0, 0).setScale(size / 2).setDepth(1e6).setAlpha(0);
        stage.scene = this;
        stage.dark = -1;
        stage.aim();
        if (stage.waiting) stage.draw(stage.waiting);
      },
      update(this: Phaser.Scene, _: number, delta: number) {
        stage.frames++;
        stage.rate = stage.rate ? stage.rate * 0.95 + 0.05 * (1000 / Math.max(1, delta)) : 60;
        if (measure && type === stage.phaser.WEBGL && stage.frames === MEASURED && stage.rate < SLOW && !document.hidden) {
          measure = false;
          queueMicrotask(() => stage.again());
        }
      },
    };
    const box = this.element.getBoundingClientRect();
    this.game = new this.phaser.Game({
      type,
      parent: this.element,
      width: Math.max(1, Math.round(box.width)),
      height: Math.max(1, Math.round(box.height)),
      backgroundColor: "#8fbf6a",
      pixelArt: true,
      banner: false,
      audio: { noAudio: true },
      input: { keyboard: false, mouse: false, touch: false, gamepad: false },
      scale: { mode: this.phaser.Scale.NONE },
      scene,
    } as Phaser.Types.Core.GameConfig);
    this.game.canvas.setAttribute("aria-hidden", "true");
    this.renderer = type === this.phaser.CANVAS ? "canvas" : "webgl";
    this.element.dataset["renderer"] = this.renderer;
  }

  /** Begins anew on a canvas, as WebGL is made by the processor here. */
  private again(): void {
    this.scene = undefined;
    this.resting = false;
    this.game?.destroy(true);
    void this.start(this.phaser.CANVAS, false);
  }

  private resize(): void {
    const { width, height } = this.element.getBoundingClientRect();
    if (!width || !height) return;
    this.game?.scale.resize(Math.round(width), Math.round(height));
    if (this.fitted) this.fit();
    else this.aim();
  }

  /** Shows the whole hospital, and as much of the town as there is room for. */
  fit(): void {
    const box = this.element.getBoundingClientRect();
    const rooms = [...this.plan.rooms.values()];
    const left = Math.min(...rooms.map((room) => room.x)) - 3;
    const right = Math.max(...rooms.map((room) => room.x + room.width)) + 2;
    const [top, bottom] = [Math.min(...rooms.map((room) => room.y)) - 3, Math.max(...rooms.map((room) => room.y + room.height)) + 2];
    const zoom = Math.min(box.width / ((right - left) * this.size), box.height / ((bottom - top) * this.size)) || 0.5;
    // Where the hospital is far wider than the page is high, its front part is worth more than all of it.
    const least = Math.min(0.6, box.height / ((bottom - top) * this.size));
    const seen = Math.max(zoom, least);
    const across = box.width / (seen * this.size);
    this.see({ x: across < right - left ? left + across / 2 : (left + right) / 2, y: (top + bottom) / 2, zoom: seen });
    this.fitted = true;
  }

  see(look: Look): void {
    this.fitted = false;
    const zoom = Math.min(6, Math.max(0.15, look.zoom));
    this.look = {
      x: Math.min(this.plan.width, Math.max(0, look.x)),
      y: Math.min(this.plan.height, Math.max(0, look.y)),
      zoom,
    };
    this.aim();
  }

  private aim(): void {
    const camera = this.scene?.cameras.main;
    camera?.setZoom(this.look.zoom);
    camera?.centerOn(this.look.x * this.size, this.look.y * this.size);
    this.onLook();
  }

  /** Returns where a place of the map is in the element, in pixels. */
  screen(x: number, y: number): [x: number, y: number] {
    const box = this.element;
    return [
      (x - this.look.x) * this.size * this.look.zoom + box.clientWidth / 2,
      (y - this.look.y) * this.size * this.look.zoom + box.clientHeight / 2,
    ];
  }

  /** Returns which place of the map is at a point of the element, in tiles. */
  place(left: number, top: number): [x: number, y: number] {
    return [
      (left - this.element.clientWidth / 2) / (this.size * this.look.zoom) + this.look.x,
      (top - this.element.clientHeight / 2) / (this.size * this.look.zoom) + this.look.y,
    ];
  }

  /** Lets the picture stand as it is, or goes on: where nothing moves, nothing needs to be drawn sixty times a second. */
  rest(resting: boolean): void {
    const loop = this.game?.loop;
    if (!this.scene || !loop || resting === this.resting || this.frames < MEASURED) return;
    this.resting = resting;
    if (resting) loop.sleep();
    else loop.wake(true);
  }

  /** Puts everybody where it is. */
  draw(drawn: Drawn): void {
    this.waiting = drawn;
    const scene = this.scene;
    if (!scene) return;
    let used = 0;
    let dots = 0;
    let ringed = false;
    for (const actor of drawn.actors) {
      if (used > MOST) break;
      const sprite = (this.pool[used] ??= scene.add.image(0, 0, "people").setOrigin(0.5, 1));
      used++;
      const [x, y] = [Math.round(actor.x * this.size), Math.round(actor.y * this.size)];
      sprite.setVisible(true).setPosition(x, y).setFrame(Actors.picture(actor)).setFlipX(actor.flip).setDepth(10 + y);
      const acuity = actor.staff ? null : drawn.acuity(actor.who);
      if (acuity) {
        const mark = (this.dots[dots] ??= scene.add.image(0, 0, acuity).setOrigin(0.5, 1));
        dots++;
        mark.setVisible(true).setTexture(acuity).setPosition(x, y - 20).setDepth(11 + y);
      }
      if (actor.who === drawn.chosen) {
        ringed = true;
        this.ring?.setVisible(true).setPosition(x, y - 2);
      }
    }
    for (let n = used; n < this.pool.length; n++) this.pool[n]?.setVisible(false);
    for (let n = dots; n < this.dots.length; n++) this.dots[n]?.setVisible(false);
    if (!ringed) this.ring?.setVisible(false);
    const dark = darkness(drawn.hour);
    if (dark === this.dark) return;
    this.dark = dark;
    this.night?.setAlpha(dark).setVisible(dark > 0);
    // Around the map lies a meadow, which gets dark as well.
    const [r, g, b] = MEADOW.map((part, n) => Math.round(part + ((NIGHT[n] as number) - part) * dark)) as [number, number, number];
    scene.cameras.main.setBackgroundColor(`rgb(${r},${g},${b})`);
  }

  /** Returns the map as one picture: thousands of tiles a frame would be too many. */
  private painted(): HTMLCanvasElement {
    const { map } = this.plan;
    const canvas = document.createElement("canvas");
    canvas.width = map.width * this.size;
    canvas.height = map.height * this.size;
    const brush = canvas.getContext("2d") as CanvasRenderingContext2D;
    const columns = map.tilesets[0]?.columns ?? 8;
    for (const layer of map.layers) {
      (layer.data ?? []).forEach((tile, at) => {
        if (!tile) return;
        const [x, y] = [(at % map.width) * this.size, Math.floor(at / map.width) * this.size];
        const [left, top] = [((tile - 1) % columns) * this.size, Math.floor((tile - 1) / columns) * this.size];
        brush.drawImage(this.tiles, left, top, this.size, this.size, x, y, this.size, this.size);
      });
    }
    return canvas;
  }

  /** Returns the night: dark outside, lit in the rooms; two pixels a tile. */
  private darkened(): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = this.plan.width * 2;
    canvas.height = this.plan.height * 2;
    const brush = canvas.getContext("2d") as CanvasRenderingContext2D;
    brush.fillStyle = "rgb(16 24 56)";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.fillStyle = "rgb(40 30 10 / 0.12)";
    const light = (x: number, y: number, width: number, height: number, left: number): void => {
      brush.clearRect(x * 2, y * 2, width * 2, height * 2);
      brush.fillStyle = `rgb(40 30 10 / ${left})`;
      brush.fillRect(x * 2, y * 2, width * 2, height * 2);
    };
    for (const room of this.plan.rooms.values()) {
      const rests = room.beds.length > 0 && room.kind !== "theatre";
      light(room.x, room.y, room.width, room.height, rests ? 0.45 : 0.12);
      for (const [x, y] of room.doors) light(x, y, 1, 1, 0.1);
    }
    for (const [x, y] of this.plan.houses) light(x - 0.5, y - 1.5, 1.5, 1.5, 0.3);
    return canvas;
  }
}

/** Returns how dark it is, from 0 to 1. */
export function darkness(hour: number): number {
  const far = hour < 12 ? (7.5 - hour) / 2.5 : (hour - 18) / 2.5;
  return 0.72 * Math.min(1, Math.max(0, far));
}

/** Whether this browser makes WebGL with its processor, which is slower than a canvas, or has none. */
function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2") ?? document.createElement("canvas").getContext("webgl");
  if (!gl) return true;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** A mark of how urgent somebody is, told by its form as well as by its colour. */
function dot(name: string, color: string): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = DOT + 2;
  const brush = canvas.getContext("2d") as CanvasRenderingContext2D;
  const middle = (DOT + 2) / 2;
  for (const [edge, fill] of [[0, "#ffffff"], [1, color]] as const) {
    brush.fillStyle = fill;
    const r = middle - edge;
    brush.beginPath();
    if (name === "emergency") brush.rect(middle - r, middle - r, 2 * r, 2 * r);
    else if (name === "urgent") {
      brush.moveTo(middle, middle - r);
      brush.lineTo(middle + r, middle + r);
      brush.lineTo(middle - r, middle + r);
    } else brush.arc(middle, middle, r, 0, 7);
    brush.fill();
  }
  return canvas;
}

function ring(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = 28;
  canvas.height = 16;
  const brush = canvas.getContext("2d") as CanvasRenderingContext2D;
  for (const [width, color] of [[4, "#ffffff"], [2, "#0f766e"]] as const) {
    brush.lineWidth = width;
    brush.strokeStyle = color;
    brush.beginPath();
    brush.ellipse(14, 8, 11, 5.5, 0, 0, 7);
    brush.stroke();
  }
  return canvas;
}
