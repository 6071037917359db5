// Asks the module from the command line: `node core.mjs MODULE`. Each line of the input is a list of requests, for a new
// instance; a number makes room for so many bytes. Each line of the output is the last answer, or `{"panic": TEXT}`.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

const module = await WebAssembly.compile(await readFile(process.argv[2]));
let core = null;
const read = (length) => new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.text(), length));

function ask(request) {
  if (typeof request === "number") return core.request(request);
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  // Making room may move the memory.
  const place = core.request(bytes.length);
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  return read(core.answer());
}

for await (const line of createInterface({ input: process.stdin })) {
  core = (await WebAssembly.instantiate(module, {})).exports;
  try {
    console.log(JSON.parse(line).map(ask).at(-1));
  } catch (error) {
    console.log(JSON.stringify({ panic: read(core.panicked()) || error.message }));
  }
}
