// The map: its rooms with their places, and ways over its tiles.

export type Cell = [x: number, y: number];

export interface Room {
  id: string;
  kind: string;
  x: number;
  y: number;
  width: number;
  height: number;
  doors: Cell[];
  stations: { patient: Cell; staff: Cell }[];
  seats: Cell[];
  beds: Cell[];
  standing: Cell[];
  posts: Cell[];
}

interface TiledObject {
  name: string;
  type: string;
  x: number;
  y: number;
  width: number;
  height: number;
  properties?: { name: string; value: string }[];
}

interface TiledLayer {
  name: string;
  type: string;
  data?: number[];
  objects?: TiledObject[];
}

export interface TiledMap {
  width: number;
  height: number;
  tilewidth: number;
  tilesets: { columns: number }[];
  properties: { name: string; value: string }[];
  layers: TiledLayer[];
}

const FAR = 0xffff;

/** The map of one hospital. */
export class Plan {
  readonly width: number;
  readonly height: number;
  readonly rooms = new Map<string, Room>();
  readonly houses: Cell[] = [];
  private readonly home: number[];
  private readonly blocked: Uint8Array;
  private readonly wild: Uint8Array;
  private readonly fields = new Map<string, Uint16Array>();
  private readonly homes = new Map<string, Cell>();

  constructor(readonly map: TiledMap) {
    this.width = map.width;
    this.height = map.height;
    this.blocked = new Uint8Array(this.width * this.height);
    this.wild = new Uint8Array(this.width * this.height);
    this.home = JSON.parse(map.properties.find((one) => one.name === "home")?.value ?? "[0,0,1,1]") as number[];
    const size = map.tilewidth;
    for (const layer of map.layers) {
      if (layer.type === "tilelayer") this.read(layer.name, layer.data ?? []);
      for (const one of layer.objects ?? []) {
        const at: Cell = [one.x / size, one.y / size];
        if (layer.name === "houses") this.houses.push(at);
        else if (layer.name === "doors") this.rooms.get(one.name)?.doors.push(at);
        else this.addRoom(one, size);
      }
    }
  }

  private read(name: string, data: number[]): void {
    for (let at = 0; at < data.length; at++) {
      const tile = data[at] as number;
      if (name === "walls" && tile) this.blocked[at] = 1;
      // Chairs are walked over, as whoever sits on one comes to it.
      if (name === "furniture" && tile && tile !== 22) this.blocked[at] = 1;
      if (name === "ground" && tile <= 3) this.wild[at] = 1;
    }
  }

  private addRoom(one: TiledObject, size: number): void {
    const places = Object.fromEntries((one.properties ?? []).map(({ name, value }) => [name, JSON.parse(value) as unknown]));
    const room = {
      id: one.name, kind: one.type, x: one.x / size, y: one.y / size, width: one.width / size, height: one.height / size, doors: [],
      ...places,
    } as unknown as Room;
    this.rooms.set(room.id, room);
  }

  /** Returns the door of the house where somebody lives, by the place of its home in metres from the entrance. */
  house(who: string, home: number[]): Cell {
    let found = this.homes.get(who);
    if (!found) {
      const [x = 0, y = 0] = home;
      const [middleX = 0, middleY = 0, width = 1, height = 1] = this.home;
      // Houses stand in columns: the place in the town decides on which.
      const share = (value: number, middle: number, side: number): number =>
        Math.min(0.999, Math.max(0, (value - middle) / (side || 1) + 0.5));
      const columns = [...new Set(this.houses.map((house) => house[0]))].sort((a, b) => a - b);
      const column = columns[Math.floor(share(x, middleX, width) * columns.length)];
      const here = this.houses.filter((house) => house[0] === column);
      found = here[Math.floor(share(y, middleY, height) * here.length)] ?? [1, Math.floor(this.height / 2)];
      this.homes.set(who, found);
    }
    return found;
  }

  /** Returns how far each tile is from the doors of a room, in steps. */
  private field(id: string): Uint16Array {
    let field = this.fields.get(id);
    if (field) return field;
    field = new Uint16Array(this.width * this.height).fill(FAR);
    // Steps over a meadow count four times: buckets by distance, as costs are small whole numbers.
    const buckets: number[][] = [];
    const room = this.rooms.get(id);
    for (const [x, y] of room?.doors ?? []) {
      field[y * this.width + x] = 0;
      (buckets[0] ??= []).push(y * this.width + x);
    }
    for (let far = 0; far < buckets.length; far++) {
      for (const at of buckets[far] ?? []) {
        if (field[at] !== far) continue;
        for (const near of this.neighbours(at)) {
          const cost = far + (this.wild[near] ? 4 : 1);
          if (cost < (field[near] as number)) {
            field[near] = cost;
            (buckets[cost] ??= []).push(near);
          }
        }
      }
      buckets[far] = [];
    }
    this.fields.set(id, field);
    return field;
  }

  private *neighbours(at: number): Generator<number> {
    const x = at % this.width;
    const open = (near: number): boolean => this.blocked[near] === 0;
    if (x > 0 && open(at - 1)) yield at - 1;
    if (x < this.width - 1 && open(at + 1)) yield at + 1;
    if (at >= this.width && open(at - this.width)) yield at - this.width;
    if (at < this.width * (this.height - 1) && open(at + this.width)) yield at + this.width;
  }

  /** Returns the way from a tile to the nearest door of a room; [] where there is none. */
  private toDoor(from: Cell, id: string): Cell[] {
    const field = this.field(id);
    let at = from[1] * this.width + from[0];
    let far = field[at] as number;
    if (far === FAR) {
      // Whoever lies in a bed or stands at a counter begins beside it.
      const beside = [...this.neighbours(at)].sort((a, b) => (field[a] as number) - (field[b] as number))[0];
      if (beside === undefined || field[beside] === FAR) return [from];
      at = beside;
      far = field[at] as number;
    }
    const way: Cell[] = [from, [at % this.width, Math.floor(at / this.width)]];
    while (far > 0) {
      let best = at;
      for (const near of this.neighbours(at)) if ((field[near] as number) < (field[best] as number)) best = near;
      if (best === at) break;
      at = best;
      far = field[at] as number;
      way.push([at % this.width, Math.floor(at / this.width)]);
    }
    return way;
  }

  /** Returns the way from a tile into a room, to a tile there. */
  route(from: Cell, id: string, to: Cell): Cell[] {
    const room = this.rooms.get(id);
    if (!room) return [from, ...this.toDoor(to, "entrance").reverse(), to];
    if (inside(room, from)) return [from, to];
    const out = this.toDoor(from, id);
    const back = this.toDoor(to, id).reverse();
    return [...out, ...back];
  }

  /** Returns the way from a room home, to the door of a house. */
  routeHome(from: Cell, house: Cell, entrance: string): Cell[] {
    return [...this.toDoor(from, entrance), ...this.toDoor(house, entrance).reverse()];
  }
}

export function inside(room: Room, [x, y]: Cell): boolean {
  return x >= room.x && y >= room.y && x < room.x + room.width && y < room.y + room.height;
}
