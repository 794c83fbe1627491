import { stripVTControlCharacters } from 'node:util';
import type { Paint } from '../../../src/cli/format/terminal';
import { parseCpuList } from '../../../src/core/cpuset';
import { buildTopology, confineTopology } from '../../../src/core/topology';
import { describeMachine } from '../../../src/admin/machine/describe-machine';
import { formatCpus } from '../../../src/cli/topology/describe-cpus';
import { formatPicture } from '../../../src/cli/topology/draw-map';
import { viewMachine, viewStatus } from '../../../src/admin/machine/machine-view';
import { toneOfMark } from '../../../src/cli/topology/legend';
import { listExamples, readPage, readTable } from '../../docs/markdown';
import { build, statusOf } from './machines';
import { SCENES } from './scenes';

/** With UPDATE_DOCS=1 the pictures are written instead of compared. */
const show = process.env['UPDATE_DOCS'] ? (name: string): string => draw(name).trimEnd() : undefined;
const page = readPage('topology.md', show);
const pictures = new Map([
  ...listExamples(page),
  ...listExamples(readPage('../test/fixtures/pictures/topology.md', show)),
]);

function draw(name: string): string {
  return formatPicture(viewStatus(statusOf(SCENES[name]!)));
}

test.each(Object.keys(SCENES))('the map of %s equals its picture', (name) => {
  expect(draw(name)).toBe(`${pictures.get(name)!}\n`);
});

test.each(Object.keys(SCENES))('the map of %s is the same with colours, and neighbours have different ones', (name) => {
  const view = viewStatus(statusOf(SCENES[name]!));
  const paint: Paint = (text, tone) => (tone === undefined ? text : `\u001b[3${tone.length}m${text}\u001b[0m`);
  expect(stripVTControlCharacters(formatPicture(view, { paint }))).toBe(formatPicture(view));
  const tones = view.owners.filter(({ mark }) => mark !== '').map(({ mark }) => toneOfMark(view, mark));
  expect(tones.some((tone, i) => tone === undefined || tone === tones[i + 1])).toBe(false);
});

test('every picture belongs to a scene', () => {
  expect([...pictures.keys()].filter((name) => !(name in SCENES))).toEqual([]);
});

test('the machine alone has no legend and no marks', () => {
  expect(formatPicture(viewMachine(build(1, 1, 1, 2, 2, 16)))).toBe(
    [
      '4 CPUs online in 1 socket, 1 NUMA node, 1 uncore cache, 2 cores',
      '',
      'socket 0, NUMA node 0, 16 GiB',
      '0  1',
      '2  3',
      '',
    ].join('\n'),
  );
});

test('caches that do not fit into one line have their names', () => {
  const text = formatPicture(viewMachine(build(1, 1, 2, 16, 1)));
  const lines = text.split('\n').slice(3, 8);
  expect(lines.map((line) => line.replace(/ +/g, ' ').trim())).toEqual([
    'uncore cache 0',
    Array.from({ length: 16 }, (_, id) => id).join(' '),
    '',
    'uncore cache 1',
    Array.from({ length: 16 }, (_, id) => id + 16).join(' '),
  ]);
});

test('clusters have the name of clusters', () => {
  const { cpus } = build(1, 1, 2, 16, 1);
  const topology = buildTopology({ cpus, cacheLevels: new Map([0, 1].map((id) => [id, 'cluster'])) });
  const lines = formatPicture(viewMachine(topology)).split('\n');
  expect(lines.filter((line) => /cache|cluster \d/.test(line))).toEqual(['cluster 0', 'cluster 1']);
});

test('given a NUMA node of which the node may use no CPU, its memory and its caches are named all the same', () => {
  const machine = build(2, 1, 2, 16, 1, 16);
  const bound = { cgroup: '/lxc', cpus: parseCpuList('0-31') };
  const text = formatPicture(viewMachine(confineTopology(machine, bound)));
  expect(text).toContain('socket 1, NUMA node 1, 16 GiB');
  expect(text.match(/uncore cache \d/g)).toEqual([0, 1, 2, 3].map((id) => `uncore cache ${id}`));
});

test('control characters in names are escaped', () => {
  const status = statusOf({ topology: build(1, 1, 1, 2, 1), owners: ['a\u001b[2Jb/c 1'] });
  expect(formatPicture(viewStatus(status))).toContain('default/a\\u001b[2Jb c');
});

test('the table has a row per CPU; offline CPUs have no location', () => {
  const status = statusOf({ ...SCENES['offline']!, owners: ['db/postgres 2,6', 'job/init 5 idle'] });
  expect(formatCpus(viewStatus(status)).split('\n')).toEqual([
    'CPU  CORE  SOCKET  NODE  CACHE  USE       POD          CONTAINER',
    '0    0     0       0     0      reserved  -            -',
    '1    1     0       0     0      shared    -            -',
    '2    -     -       -     -      offline   -            -',
    '3    -     -       -     -      offline   -            -',
    '4    0     0       0     0      shared    -            -',
    '5    1     0       0     0      idle      default/job  init',
    '6    6     0       0     0      static    default/db   postgres',
    '7    -     -       -     -      offline   -            -',
    '',
  ]);
});

describe('json', () => {
  interface Described {
    readonly cpus: readonly { readonly id: number; readonly use?: string; readonly owner?: string }[];
    readonly owners?: readonly object[];
  }
  const describeAsJson = (view: Parameters<typeof describeMachine>[0]): Described =>
    JSON.parse(JSON.stringify(describeMachine(view))) as Described;

  test('names the owner of each CPU, and all owners', () => {
    const { cpus, owners } = describeAsJson(viewStatus(statusOf(SCENES['every-kind-of-owner']!)));
    expect(cpus[9]).toEqual({ id: 9, core: 1, socket: 0, numaNode: 0, uncoreCache: 0, use: 'static', owner: 'A' });
    expect(owners).toEqual([
      owner({ mark: 'A', kind: 'static', pod: 'db', containers: ['postgres'], cpus: '1-2,9-10' }),
      owner({ mark: 'b', kind: 'static', isIdle: true, pod: 'job', containers: ['init'], cpus: '3' }),
      owner({ mark: 'C', kind: 'immovable', pod: 'cache', containers: ['redis'], cpus: '5' }),
      owner({ mark: 'D', kind: 'exclusive', pod: 'web', containers: ['back', 'front'], cpus: '6,14' }),
      owner({ mark: '', kind: 'numa', pod: 'batch', containers: ['worker'], cpus: '', nodes: '1' }),
    ]);
  });

  test('has the keys that docs/topology.md lists', () => {
    const named = readTable(page, '## For programs').flatMap(([keys]) => keys!.split(', '));
    const described = describeAsJson(viewStatus(statusOf(SCENES['every-kind-of-owner']!)));
    expect(named.sort()).toEqual(Object.keys(described).sort());
  });

  test('has neither use nor owners for a machine without a status', () => {
    const described = describeAsJson(viewMachine(build(1, 1, 1, 2, 1)));
    expect(described.cpus[0]).toEqual({ id: 0, core: 0, socket: 0, numaNode: 0, uncoreCache: 0 });
    expect(described.owners).toBeUndefined();
  });
});

function owner({ pod, ...rest }: { pod: string } & Record<string, unknown>): object {
  return { isIdle: false, namespace: 'default', pod, podUid: `uid-${pod}`, ...rest };
}
