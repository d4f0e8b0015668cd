// SQL over the site's Parquet files, in the reader's own browser: nothing that is typed here leaves it.
import { AsyncDuckDB, VoidLogger, initParquet, readParquet } from "./engine/engine.js";

const SHOWN = 1000; // rows
const LISTS = /\b(show|pragma|information_schema|duckdb_\w+|sqlite_master)\b/i;
const at = (id) => document.getElementById(id);
const files = JSON.parse(at("tables").textContent); // name of a table -> its file
const here = (path) => new URL(path, import.meta.url);
const loaded = new Map(); // name of a table -> promise
let database, opened, result;

async function bytes(path) {
  const response = await fetch(here(path));
  if (!response.ok) throw new Error(`cannot load ${path} (HTTP ${response.status}): the site is incomplete`);
  return new Uint8Array(await response.arrayBuffer());
}

// Hosts that know the suffix .gz may have unpacked the file on the way.
async function unpacked(path) {
  const packed = await bytes(path);
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) return packed;
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function open() {
  const [script, wasm, parquet] = await Promise.all([
    bytes("engine/duckdb.worker.js"),
    unpacked("engine/duckdb.wasm.gz"),
    unpacked("engine/parquet.wasm.gz"),
  ]);
  await initParquet({ module_or_path: parquet });
  // A worker made of a blob obeys this page's Content-Security-Policy, so it can reach no other host.
  const url = (content, type) => URL.createObjectURL(new Blob([content], { type }));
  database = new AsyncDuckDB(new VoidLogger(), new Worker(url(script, "text/javascript")));
  await database.instantiate(url(wasm, "application/wasm"));
  await database.open({ query: { castTimestampToDate: true, castDecimalToDouble: true } });
  const connection = await database.connect();
  for (const set of [
    "autoinstall_known_extensions = false", "autoload_known_extensions = false",
    "enable_external_access = false", "lock_configuration = true",
  ]) await connection.query(`SET ${set}`);
  return connection;
}

async function load(connection, name) {
  const stream = readParquet(await bytes(files[name])).intoIPCStream();
  await connection.insertArrowFromIPCStream(stream, { name, create: true });
}

// The tables that a query names; all tables for a query that lists them.
function named(sql) {
  const words = new Set(sql.toLowerCase().match(/\w+/g) ?? []);
  return Object.keys(files).filter((name) => LISTS.test(sql) || words.has(name.toLowerCase()));
}

async function attempt(sql) {
  say("Loading the query engine …");
  const connection = await (opened ??= open());
  for (const name of named(sql)) {
    say(`Loading ${name} …`);
    if (!loaded.has(name)) loaded.set(name, load(connection, name));
    await loaded.get(name);
  }
  say("Running …");
  return connection.query(sql);
}

// A query may break the engine, and a file may fail to load: the broken part is loaded again, once.
async function answer(sql) {
  try {
    return await attempt(sql);
  } catch (error) {
    const connection = await opened.catch(() => null);
    const works = connection && (await connection.query("SELECT 1").then(() => true, () => false));
    if (works) for (const [name, table] of loaded) table.catch(() => loaded.delete(name));
    if (works) throw error;
    database?.terminate();
    opened = undefined;
    loaded.clear();
    if (!connection) throw error;
    return attempt(sql);
  }
}

function text(value, type) {
  if (value === null || value === undefined) return null;
  if (/^(Date|Timestamp)/.test(type) && typeof value !== "object") {
    const time = new Date(Number(value)).toISOString().replace("T", " ");
    return type.startsWith("Date32") ? time.slice(0, 10) : time.replace(/(\.000)?Z$/, "");
  }
  if (typeof value !== "object") return String(value);
  return JSON.stringify(value, (_, each) => (typeof each === "bigint" ? Number(each) : each));
}

function table({ names, rows, numeric }) {
  const shown = document.createElement("table");
  const line = (parent, tag, cells) => {
    const row = parent.insertRow();
    cells.forEach((cell, i) => {
      const box = document.createElement(tag);
      box.textContent = cell ?? "NULL";
      if (tag === "th") box.scope = "col";
      box.className = `${numeric[i] ? "" : "text"} ${cell === null ? "aside" : ""}`.trim();
      row.append(box);
    });
  };
  line(shown.createTHead(), "th", names);
  const body = shown.createTBody();
  for (const row of rows.slice(0, SHOWN)) line(body, "td", row);
  return shown;
}

function csv({ names, rows, numeric }) {
  // As in the downloads of other pages, a text that spreadsheets would run as a formula gets an apostrophe.
  const isFormula = (x) => /^[=@\t\r]|^[+-](?![\d.,]+(e[+-]?\d+)?%?$)/i.test(x);
  const quoted = (x) => `"${x.replaceAll('"', '""')}"`;
  const cell = (x, i) => (x === null ? "" : quoted(numeric[i] || !isFormula(x) ? x : `'${x}`));
  const head = names.map((name) => quoted(isFormula(name) ? `'${name}` : name));
  return [head, ...rows.map((row) => row.map(cell))].map((row) => row.join(",")).join("\r\n") + "\r\n";
}

function say(words, isError = false) {
  at("status").textContent = words;
  at("status").className = isError ? "warning" : "note";
}

async function run() {
  const sql = at("sql").value.trim();
  if (!sql) return say("The query is empty: write one, or choose an example.", true);
  at("run").disabled = true;
  at("result").replaceChildren();
  at("save").hidden = true;
  const start = performance.now();
  try {
    const answered = await answer(sql);
    const fields = answered.schema.fields;
    const types = fields.map((field) => String(field.type));
    result = {
      names: fields.map((field) => field.name),
      numeric: types.map((type) => /^(U?int|float|decimal)/i.test(type)),
      rows: answered.toArray().map((row) => [...row].map(([, value], i) => text(value, types[i]))),
    };
    at("result").append(table(result));
    at("save").hidden = false;
    const n = result.rows.length.toLocaleString("en");
    const first = result.rows.length > SHOWN ? `, of which the first ${SHOWN.toLocaleString("en")} are shown` : "";
    say(`${n} row${n === "1" ? "" : "s"} in ${((performance.now() - start) / 1000).toFixed(1)} s${first}.`);
    history.replaceState(null, "", `#${new URLSearchParams({ sql })}`);
  } catch (error) {
    say(String(error?.message ?? error).trim().split(/\n\s*\n/)[0].replace(/\s*\n\s*/g, " "), true); // with its hint
  } finally {
    at("run").disabled = false;
  }
}

function prefill() {
  const sql = new URLSearchParams(location.hash.slice(1)).get("sql");
  if (sql) at("sql").value = sql;
}

at("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
at("sql").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
at("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(result)], { type: "text/csv" }));
  link.download = "culturemeter-query.csv";
  link.click();
  URL.revokeObjectURL(link.href);
});
window.addEventListener("hashchange", prefill);
prefill();
at("run").disabled = false;
say("Ready. The first query loads the query engine (10 MB).");
