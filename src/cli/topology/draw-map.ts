import { stripVTControlCharacters } from 'node:util';
import { CpuSet } from '../../core/cpuset';
import { machineOf, memoryBytesOf, nameCache } from '../../core/topology';
import { PLAIN, type Paint, type Terminal } from '../format/terminal';
import { layOut, type Section, type Slot } from '../../admin/machine/layout';
import { wrap } from '../format/width';
import { formatLegend, formatMemory, listRemarks, summarize, toneOfMark } from './legend';
import { findUse, type MachineView } from '../../admin/machine/machine-view';

/** Longest line where the output is no terminal. */
export const MAP_WIDTH = 80;
/** Most CPUs that are drawn with their numbers. With more, each is one mark, and lines begin with the numbers. */
const MAX_NUMBERED_CPUS = 64;
const CORES_IN_A_GROUP = 8;

/** The whole picture: a summary of the machine, the map, the legend. */
export function formatPicture(view: MachineView, terminal: Terminal = PLAIN): string {
  const { width = Infinity } = terminal;
  const summary = wrap(summarize(view), width).join('\n');
  const parts = [summary, drawMap(view, terminal), formatLegend(view, terminal), listRemarks(view)];
  return parts.filter((part) => part !== '').join('\n');
}

/** The machine, a panel for each NUMA node of a socket: CPUs of a core one above the other, `|` between caches. */
export function drawMap(view: MachineView, { width = MAP_WIDTH, paint }: Terminal = PLAIN): string {
  const sections = layOut(machineOf(view.topology), view.offline);
  const panels = firstOf(listStyles(view, paint), (style) => {
    const drawn = sections.map((section) => drawSection(view, section, { ...style, width }));
    return drawn.includes(undefined) ? undefined : (drawn as Panel[]);
  });
  return placePanels(panels ?? [], width)
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/**
 * The styles to try, in order. Marks alone need a short label per line; without one, each CPU is drawn with its number.
 */
function listStyles(view: MachineView, paint: Paint): Style[] {
  const machine = machineOf(view.topology);
  const digits = String(machine.online.union(view.offline).toArray().at(-1) ?? 0).length;
  const numbered = numberedStyle(view, digits, paint);
  if (machine.cpus.length <= MAX_NUMBERED_CPUS) return [numbered];
  return [compactStyle(view, 2 * digits + 1, paint), compactStyle(view, MAX_LABEL_LENGTH, paint), numbered];
}

function firstOf<T, R>(items: readonly T[], attempt: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = attempt(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

interface Style {
  readonly drawCpu: (cpu: number | undefined) => string;
  /** Between CPUs of neighbouring cores. */
  readonly gap: string;
  /** Between groups of eight cores of one cache. */
  readonly groupGap: string;
  /** Between caches. */
  readonly cacheGap: string;
  /** Longest label of a line; 0 = lines have none. */
  readonly labelLength: number;
}

function numberedStyle(view: MachineView, digits: number, paint: Paint): Style {
  const markLength = markLengthOf(view);
  return {
    drawCpu: (cpu) => {
      if (cpu === undefined) return ' '.repeat(digits + markLength);
      const { mark } = findUse(view, cpu);
      return paint(String(cpu).padStart(digits) + mark, toneOfMark(view, mark)) + ' '.repeat(markLength - mark.length);
    },
    gap: ' ',
    groupGap: ' ',
    cacheGap: ' | ',
    labelLength: 0,
  };
}

function compactStyle(view: MachineView, labelLength: number, paint: Paint): Style {
  const markLength = markLengthOf(view);
  return {
    drawCpu: (cpu) => {
      const mark = cpu === undefined ? '' : findUse(view, cpu).mark || '.';
      return paint(mark, toneOfMark(view, mark)) + ' '.repeat(markLength - mark.length);
    },
    gap: '',
    groupGap: ' ',
    cacheGap: '|',
    labelLength,
  };
}

function markLengthOf({ owners }: MachineView): number {
  return Math.max(1, ...owners.map(({ mark }) => mark.length));
}

type Panel = readonly string[];

interface FittedStyle extends Style {
  /** Longest line. */
  readonly width: number;
}

/** Undefined when a line has no short label. */
function drawSection(view: MachineView, section: Section, style: FittedStyle): Panel | undefined {
  const lines = breakLines(section, style);
  const labels = lines.map((line) => rowsOf(line).map((row) => (style.labelLength > 0 ? nameRow(row) : '')));
  if (labels.flat().some((label) => label === undefined || label.length > style.labelLength)) return undefined;
  const longest = Math.max(...labels.flat().map((label) => label!.length));
  const namesCaches = section.caches.length > 1 && lines.every((caches) => caches.length === 1);
  const cacheOf = (line: number): string | undefined =>
    namesCaches ? cacheOfSlots(view, lines[line]?.[0]) : undefined;
  const body = lines.flatMap((caches, line) => {
    const rows = rowsOf(caches).map((_, thread) => {
      const drawn = caches.map((slots) => drawRow(slots, thread, style)).join(style.cacheGap);
      return longest === 0 ? drawn : `${labels[line]![thread]!.padStart(longest)}  ${drawn}`;
    });
    const cache = cacheOf(line);
    const named = cache === undefined || cache === cacheOf(line - 1) ? rows : [cache, ...rows];
    return line === 0 ? named : ['', ...named];
  });
  return [titleOf(view, section), ...body];
}

/**
 * The cache of these cores: where each line has one alone, nothing but its name shows that a new line is another cache.
 */
function cacheOfSlots(view: MachineView, slots: readonly Slot[] = []): string | undefined {
  const { online, uncoreCaches } = machineOf(view.topology);
  const cpu = slots.flat().find((each) => each !== undefined && online.has(each));
  const cache = cpu === undefined ? undefined : uncoreCaches.find(({ cpus }) => cpus.has(cpu));
  return cache && nameCache(cache);
}

/** Puts about equally many caches on each line. A cache that is too long is broken between groups of cores. */
function breakLines({ caches }: Section, style: FittedStyle): Slot[][][] {
  const room = style.width - (style.labelLength > 0 ? style.labelLength + 2 : 0);
  const widthOf = (slots: readonly Slot[]): number => lengthOf(drawRow(slots, 0, style));
  const widest = Math.max(...caches.map(widthOf));
  if (widest > room) return caches.flatMap((cache) => cutInto(cache, widthOf, room).map((piece) => [piece]));
  const most = Math.floor((room + style.cacheGap.length) / (widest + style.cacheGap.length));
  const perLine = Math.ceil(caches.length / Math.ceil(caches.length / most));
  return chunk(caches, perLine).map((line) => line.map((cache) => [...cache]));
}

/** Pieces of equal numbers of cores, each short enough. */
function cutInto(slots: readonly Slot[], widthOf: (slots: readonly Slot[]) => number, room: number): Slot[][] {
  let size = Math.ceil(slots.length / CORES_IN_A_GROUP) * CORES_IN_A_GROUP;
  while (size > 1 && widthOf(slots.slice(0, size)) > room)
    size -= size > CORES_IN_A_GROUP ? CORES_IN_A_GROUP : size / 2;
  return chunk(slots, size);
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  const pieces: T[][] = [];
  for (let from = 0; from < items.length; from += size) pieces.push(items.slice(from, from + size));
  return pieces;
}

function drawRow(slots: readonly Slot[], thread: number, { drawCpu, gap, groupGap }: Style): string {
  return slots
    .map((slot, place) => {
      const before = place === 0 ? '' : place % CORES_IN_A_GROUP === 0 ? groupGap : gap;
      return before + drawCpu(slot[thread]);
    })
    .join('');
}

/** The CPUs of a line by thread. */
function rowsOf(caches: readonly (readonly Slot[])[]): number[][] {
  const slots = caches.flat();
  return slots[0]!.map((_, thread) =>
    slots.flatMap((slot) => {
      const cpu = slot[thread];
      return cpu === undefined ? [] : [cpu];
    }),
  );
}

const MAX_LABEL_LENGTH = 16;

/** `0-23`, `0,2..46`, or a list; undefined when that is ambiguous or too long. */
function nameRow(cpus: readonly number[]): string | undefined {
  const [first, second] = cpus;
  const last = cpus.at(-1);
  if (first === undefined || last === undefined) return '';
  const step = (second ?? first) - first;
  const isEven = cpus.every((cpu, i) => cpu === first + i * step);
  if (isEven && step > 1 && cpus.length > 2) return `${first},${second!}..${last}`;
  const list = CpuSet.of(cpus).toString();
  const isAscending = cpus.every((cpu, i) => i === 0 || cpu > cpus[i - 1]!);
  return isAscending && list.length <= MAX_LABEL_LENGTH ? list : undefined;
}

function titleOf({ topology }: MachineView, { socket, numaNode }: Section): string {
  const memory = memoryBytesOf(machineOf(topology), numaNode);
  return [`socket ${socket}, NUMA node ${numaNode}`, ...(memory > 0 ? [formatMemory(memory)] : [])].join(', ');
}

const PANEL_GAP = '    ';

/** Panels side by side as long as they fit. */
function placePanels(panels: readonly Panel[], mapWidth: number): string[] {
  const lines: string[] = [];
  let row: string[] = [];
  for (const panel of panels) {
    const width = Math.max(...panel.map(lengthOf));
    const left = Math.max(0, ...row.map(lengthOf));
    if (row.length > 0 && left + PANEL_GAP.length + width > mapWidth) {
      lines.push(...row, '');
      row = [...panel];
    } else {
      const height = Math.max(row.length, panel.length);
      const gap = row.length === 0 ? '' : PANEL_GAP;
      row = Array.from({ length: height }, (_, i) => {
        const before = row[i] ?? '';
        return before + ' '.repeat(left - lengthOf(before)) + gap + (panel[i] ?? '');
      });
    }
  }
  return [...lines, ...row];
}

/** The columns that a text takes, whatever its colours. It is ASCII. */
function lengthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
