import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { JsonBound, MAX_JSON_BYTES, parseBoundedJson, STORABLE_WORK } from '../../src/core/bounded-json';
import { slowness } from '../support/wait-until';

const asBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each`
  json
  ${'{"a":[1,-2.5e3,true,null,"x \\" [[[ \\\\"],"b":{}}'}
  ${' [ ] '}
  ${'"\\u20ac€"'}
  ${'0'}
  ${'["\\\\", "\\\\\\"", "\\\\\\\\", "["]'}
`('$json is parsed, as text and as bytes', ({ json }: { json: string }) => {
  expect(parseBoundedJson(json)).toEqual(JSON.parse(json));
  expect(parseBoundedJson(asBytes(json))).toEqual(JSON.parse(json));
});

test.each`
  json
  ${''}
  ${'['}
  ${'"\\'}
  ${'"open'}
  ${']]]]'}
  ${'{"a":}'}
  ${'nul'}
`('$json is no JSON', ({ json }: { json: string }) => {
  expect(() => parseBoundedJson(json)).toThrow(SyntaxError);
  expect(() => parseBoundedJson(asBytes(json))).toThrow(SyntaxError);
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** Lists in each other, with a text in the innermost. */
const around = (depth: number, inner: string): string => '['.repeat(depth) + inner + ']'.repeat(depth);

test.each`
  json                            | want
  ${nested(64)}                   | ${nested(64)}
  ${nested(65)}                   | ${around(64, 'null')}
  ${around(63, '{"a":{},"b":1}')} | ${around(63, '{"a":null,"b":1}')}
  ${around(63, '[[],"x",[[]]]')}  | ${around(63, '[null,"x",null]')}
  ${`[${nested(1_000)},{"a":1}]`} | ${`[${around(63, 'null')},{"a":1}]`}
  ${nested(300_000)}              | ${around(64, 'null')}
`('of 64 lists and objects in each other all is parsed, and what is in more is null ($want)', ({ json, want }: Record<string, string>) => {
  expect(JSON.stringify(parseBoundedJson(json!))).toBe(want);
  expect(JSON.stringify(parseBoundedJson(asBytes(json!)))).toBe(want);
}); // prettier-ignore

test('a name that objects inherit is cut as any other', () => {
  const value = parseBoundedJson(around(63, '{"__proto__":{"a":1}}')) as unknown[];
  expect(JSON.stringify(value)).toBe(around(63, '{"__proto__":null}'));
});

test('brackets in a text count for nothing, and deep text that is no JSON is refused', () => {
  expect(parseBoundedJson(JSON.stringify(nested(1_000)))).toBe(nested(1_000));
  expect(() => parseBoundedJson(around(100, '}'))).toThrow(SyntaxError);
});

test('JSON with more values than are read is refused', () => {
  expect(() => parseBoundedJson('[1,2,3]', 4)).toThrow(JsonBound);
  expect(parseBoundedJson('[1,2,3]', 5)).toEqual([1, 2, 3]);
});

/** Pieces with commas between them, as a list or an object of at most so many bytes. */
function fill(piece: (i: number) => string, { brackets = '[]', most = Infinity, bytes = MAX_JSON_BYTES } = {}): string {
  const pieces: string[] = [];
  for (let i = 0, length = 2; i < most; i++) {
    const next = piece(i);
    length += Buffer.byteLength(next) + 1;
    if (length > bytes) break;
    pieces.push(next);
  }
  return `${brackets[0]}${pieces.join(',')}${brackets[1]}`;
}

test.each`
  kind                  | object
  ${'empty texts'}      | ${() => fill(() => '""', { most: 786_000 })}
  ${'references'}       | ${() => fill(() => '{"name":"x"}', { most: 314_000 })}
  ${'names, as labels'} | ${() => fill((i) => `"${i.toString(36)}":""`, { brackets: '{}', most: 157_000 })}
`('what the API server can store is parsed: 1.5 MiB of $kind', ({ object }: { object: () => string }) => {
  const text = object();
  expect(parseBoundedJson(text, STORABLE_WORK)).toEqual(JSON.parse(text));
});

test('JSON that is longer than usual, as an operator allows it, has room for whole Nodes: one value for sixteen bytes', () => {
  const bytes = 3 * MAX_JSON_BYTES;
  const nodes = fill(() => '{"name":"0123456789abcdef0123456789abcdef0123456789abcdef"}', { bytes });
  expect(parseBoundedJson(nodes)).toHaveLength((JSON.parse(nodes) as unknown[]).length);
  expect(() => parseBoundedJson(fill(() => '{}', { bytes }))).toThrow('has more values than are read');
});

/** The worst of each kind: as many as are taken, or as long as is taken. */
const worst: Readonly<Record<string, () => string>> = {
  'brackets alone': () => nested(MAX_JSON_BYTES / 2),
  'brackets alone, as many as are taken': () => nested(349_000),
  'objects in each other, as many as are taken': () => `${'{"a":'.repeat(116_000)}0${'}'.repeat(116_000)}`,
  'empty lists, as many as have room': () => fill(() => '[]'),
  'empty lists, as many as are taken': () => fill(() => '[]', { most: 349_000 }),
  'empty objects': () => fill(() => '{}', { most: 349_000 }),
  'objects with a name of their own each': () => fill((i) => `{"k${i}":0}`, { most: 99_000 }),
  'objects with four names of their own each': () =>
    fill((i) => `{"a${i}":0,"b${i}":0,"c${i}":0,"d${i}":0}`, { most: 31_000 }),
  'one object with many names': () => fill((i) => `"key${i}":0`, { brackets: '{}', most: 139_000 }),
  'one object with many numbers as names': () => fill((i) => `"${i * 1_000}":0`, { brackets: '{}', most: 139_000 }),
  'objects with a large number as name': () => fill((i) => `{"${4_000_000 + i}":0}`, { most: 99_000 }),
  'short texts': () => fill((i) => `"${i}"`, { most: 349_000 }),
  'texts with a wide sign': () => fill((i) => `"€${i}"`, { most: 349_000 }),
  'longer texts with a wide sign': () => fill((i) => `"€${String(i).padStart(20, 'x')}"`, { most: 349_000 }),
  'one text with a wide sign': () => `"€${'a'.repeat(MAX_JSON_BYTES - 8)}"`,
  'one text of escapes': () => `"${'\\u20ac'.repeat(MAX_JSON_BYTES / 6 - 2)}"`,
  'one number': () => '1'.repeat(MAX_JSON_BYTES),
  'many numbers': () => fill((i) => `${i}.5e-${i % 300}`, { most: 699_000 }),
  spaces: () => `${' '.repeat(MAX_JSON_BYTES - 1)}0`,
  'lists in lists': () => fill(() => nested(60), { most: 5_800 }),
};

describe('the longest JSON that is read takes less than a second and 64 MiB, whatever is in it', () => {
  let folder: string;
  let program: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bounded-json-'));
    program = join(folder, 'measure.js');
    const source = `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { parseBoundedJson } from ${JSON.stringify(join(__dirname, '../../src/core/bounded-json'))};
      const readPeak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
      const json = readFileSync(process.argv[2]);
      parseBoundedJson('[]');
      globalThis.gc();
      writeFileSync('/proc/self/clear_refs', '5'); // the peak begins anew
      const before = readPeak();
      const startMs = performance.now();
      let kept;
      try { kept = parseBoundedJson(json); } catch {}
      console.log(JSON.stringify({ ms: performance.now() - startMs, mib: (readPeak() - before) / 1024, isRead: kept !== undefined }));`;
    buildSync({ stdin: { contents: source, resolveDir: __dirname }, bundle: true, platform: 'node', outfile: program });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(Object.keys(worst))('%s', (name) => {
    const file = join(folder, 'json');
    writeFileSync(file, worst[name]!());
    expect(readFileSync(file).length).toBeLessThanOrEqual(MAX_JSON_BYTES);
    const { ms, mib, isRead } = JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', program, file], { encoding: 'utf8' }),
    ) as {
      ms: number;
      mib: number;
      isRead: boolean;
    };
    if (process.env['CPUSETD_SHOW'] !== undefined) console.log(name, Math.round(ms), 'ms', Math.round(mib), 'MiB');
    expect(isRead).toBe(!['brackets alone', 'empty lists, as many as have room'].includes(name));
    expect(mib).toBeLessThan(64);
    expect(ms).toBeLessThan(1_000 * slowness());
  });
});
