-- The tables of a store, in the schema {s}.
CREATE TABLE {s}.store (name text PRIMARY KEY, value text NOT NULL);
-- A journal's rows, known by a digest of run, episode, request and which of the equal requests it is.
CREATE TABLE {s}.calls (
  id bytea PRIMARY KEY, run text NOT NULL, episode text NOT NULL, request bytea NOT NULL, k integer NOT NULL,
  purpose text NOT NULL, reply bytea NOT NULL, stored timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE {s}.messages (id bytea PRIMARY KEY, message bytea NOT NULL);
CREATE TABLE {s}.prompts (
  request bytea PRIMARY KEY, model text NOT NULL, role text NOT NULL, messages bytea NOT NULL, answer text NOT NULL
);
-- Memories of doctors; `n` counts from 0 in each.
CREATE TABLE {s}.memories (name text PRIMARY KEY, about bytea NOT NULL, begun timestamptz NOT NULL DEFAULT now());
CREATE TABLE {s}.entries (
  memory text NOT NULL REFERENCES {s}.memories ON DELETE CASCADE, n integer NOT NULL, kind text NOT NULL,
  task text NOT NULL, entry bytea NOT NULL, vector bytea NOT NULL, seal bytea NOT NULL, PRIMARY KEY (memory, n)
);
CREATE TABLE {s}.practice (
  memory text NOT NULL REFERENCES {s}.memories ON DELETE CASCADE, patients integer NOT NULL, what text NOT NULL,
  came bytea NOT NULL, PRIMARY KEY (memory, patients, what)
);
-- Folders of results, as they were written.
CREATE TABLE {s}.results (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, made_of bytea NOT NULL,
  stopped boolean NOT NULL, kept timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE {s}.files (
  result bigint NOT NULL REFERENCES {s}.results ON DELETE CASCADE, name text NOT NULL, content bytea NOT NULL,
  PRIMARY KEY (result, name)
);
-- A row for each item, for whoever asks by SQL.
CREATE VIEW {s}.items AS
  SELECT result, n, line::json AS item
  FROM {s}.files,
    unnest(string_to_array(rtrim(convert_from(content, 'UTF8'), chr(10)), chr(10))) WITH ORDINALITY AS lines (line, n)
  WHERE name = 'items.jsonl';
