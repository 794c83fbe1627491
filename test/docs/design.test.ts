import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAYERS, ROOMS } from '../architecture/layers';
import { readPage, readTable } from './markdown';

// Compares docs/design.md with the sources: the allowed imports, and the life of one event.

const ROOT = join(__dirname, '../..');
const page = readPage('design.md');

/** `a`, `b` of a cell `a, b`; none of a cell `-`. */
function readList(cell: string): string[] {
  return cell === '-' ? [] : cell.split(', ');
}

function readRooms(heading: string): Record<string, string[]> {
  return Object.fromEntries(readTable(page, heading).map(([room, , imports]) => [room!, readList(imports!).sort()]));
}

function sortLists(rooms: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(rooms).map(([room, imports]) => [room, [...imports].sort()]));
}

test('given the table of layers, then it names the imports that the check of imports allows', () => {
  expect(readRooms('### Layers')).toEqual(sortLists(LAYERS));
});

test.each(['app', 'qos', 'scheduling'])(
  'given the picture of rooms, then it shows every layer and every room of %s',
  (layer) => {
    const picture = /## Folders\n[^]*?```\n([^]*?)```/.exec(page)![1]!;
    const shown = new Set(picture.match(/[\w-]+/g));
    const rooms = [...Object.keys(LAYERS), ...Object.keys(ROOMS[layer]!)];
    expect(rooms.filter((room) => !shown.has(room))).toEqual([]);
  },
);

/** A step of the life of an event: the function, and the file in `src` that defines it. */
const steps = readTable(page, '## The life of one event').map(([name, file]) => ({ name: name!, file: file! }));

function read(file: string): string {
  return readFileSync(join(ROOT, 'src', file), 'utf8');
}

/** True when a text defines a function or a method of a name. */
function defines(text: string, name: string): boolean {
  return new RegExp(
    `function ${name}\\b|^ +(?:private |static |async |readonly )*${name}\\s*[(<=]|const ${name}\\b`,
    'm',
  ).test(text);
}

test('given the life of one event, then each step names a function of the file', () => {
  expect(steps.length).toBeGreaterThan(6);
  expect(steps.filter(({ file }) => !existsSync(join(ROOT, 'src', file)))).toEqual([]);
  expect(steps.filter(({ name, file }) => !defines(read(file), name))).toEqual([]);
});

test('given the life of one event, then each step after the first is called by the file of a step before it', () => {
  const orphans = steps.filter(
    ({ name }, at) =>
      at > 0 && !steps.slice(0, at).some(({ file }) => new RegExp(`\\b${name}\\b\\s*\\(`).test(read(file))),
  );
  expect(orphans).toEqual([]);
});

test('given a step that is not in its file, then it is seen', () => {
  expect(defines('  handle(event): void {', 'handle')).toBe(true);
  expect(defines('export function handle(', 'handle')).toBe(true);
  expect(defines('  return handle(event);', 'handle')).toBe(false);
});
