import { CpuSet } from '../../../core/cpuset';
import { compareTexts } from '../../../core/text';
import { barredCpus, kindsOf, machineOf, memoryBytesOf, type CacheLevel, type Topology } from '../../../core/topology';
import { layOut, type Section, type Slot } from '../../machine/layout';
import { findUse, PLAIN_MARKS, type MachineView, type Owner, type Use } from '../../machine/machine-view';
import type { ContainerStatus } from '../../model/status';
import { BROKEN } from '../../summary/promises';
import type { Fragment, FragmentList, Machine } from './fragments';
import { html, type Html } from './html';
import { assignTones, type Toned } from './tones';

/** Cores in a row that begins with the number of its first CPU. */
const ROW = 8;

/** A machine as it was laid out. */
interface LaidOut {
  readonly topology: Topology;
  readonly offline: string;
  readonly shown: Machine;
  /** The CPU on the right of each one in its row. */
  readonly nextOf: ReadonlyMap<number, number>;
  /** CPUs side by side, or one above the other, also where a row or a cache ends between them. */
  readonly pairs: readonly (readonly [number, number])[];
}

/** An owner as it is drawn. */
interface DrawnOwner {
  readonly owner: Owner;
  /** The id of its element in the list below the map. */
  readonly id: string;
  readonly tone: number;
  /** The verdict of its containers, where one of them does not have what it was promised. */
  readonly broken: (typeof BROKEN)[number] | undefined;
}

/** The map of a machine, and its CPUs with their owners. */
export class MapRenderer {
  private machine: LaidOut | undefined;
  private tones: ReadonlyMap<string, number> = new Map();
  private cells = new Map<number, { readonly key: string; readonly fragment: Fragment }>();

  render(
    view: MachineView,
    containers: readonly ContainerStatus[],
  ): {
    readonly machine: Machine;
    readonly cells: readonly Fragment[];
    readonly legend: FragmentList;
  } {
    const machine = this.layOutOnce(view);
    const whole = machineOf(view.topology);
    const places = new Map(whole.cpus.map((cpu) => [cpu.id, cpu]));
    const uses = new Map(
      whole.online
        .union(view.offline)
        .toArray()
        .map((cpu) => [cpu, findUse(view, cpu)] as const),
    );
    const ownerOf = (cpu: number): Owner | undefined => uses.get(cpu)?.owner;
    this.tones = assignTones(describeNeighbours(view.owners, machine, ownerOf), this.tones);
    const brokenOf = findBroken(containers);
    const drawn = new Map(
      view.owners.map((owner, index): [Owner, DrawnOwner] => [
        owner,
        { owner, id: legendId(owner, index), tone: this.tones.get(keyOf(owner))!, broken: brokenOf(owner) },
      ]),
    );
    const cells = [...uses].map(([cpu, { use, owner, mark }]) => {
      const drawnOwner = owner && drawn.get(owner);
      const next = machine.nextOf.get(cpu);
      const isJoined = owner !== undefined && next !== undefined && ownerOf(next) === owner;
      const key = `${use} ${mark} ${drawnOwner ? `${isJoined} ${drawnOwner.broken} ${drawnOwner.tone} ${drawnOwner.id} ${nameOf(drawnOwner.owner)}` : ''}`;
      const known = this.cells.get(cpu);
      if (known?.key === key) return known.fragment;
      const place = places.get(cpu);
      const kinds = kindsOf(whole, CpuSet.of([cpu])).map((kind) => ` (${kind})`);
      const where = place
        ? `core ${place.core}${kinds.join('')}, socket ${place.socket}, NUMA node ${place.numaNode}`
        : '';
      const fragment = drawCell(cpu, { use, mark, owner: drawnOwner, where, isJoined });
      this.cells.set(cpu, { key, fragment });
      return fragment;
    });
    return { machine: machine.shown, cells, legend: { id: 'legend', items: drawLegend(view, [...drawn.values()]) } };
  }

  private layOutOnce({ topology: usable, offline }: MachineView): LaidOut {
    const topology = machineOf(usable);
    const offlineList = offline.toString();
    if (this.machine?.topology !== topology || this.machine.offline !== offlineList) {
      const sections = layOut(topology, offline);
      const unitOf = new Map(topology.uncoreCaches.map((unit) => [unit.id, unit]));
      const cacheOf = new Map(topology.cpus.map(({ id, uncoreCache }) => [id, nameCache(unitOf.get(uncoreCache)!)]));
      const { memoryNodes, coreKinds } = topology;
      const layout = JSON.stringify([sections, memoryNodes, coreKinds, [...cacheOf.values()], offlineList]);
      const draw = (cells: readonly Fragment[]): Html => drawMachine(sections, { topology, cacheOf, cells });
      this.machine = { topology, offline: offlineList, shown: { layout, draw }, ...findNeighbours(sections) };
      this.cells.clear();
    }
    return this.machine;
  }
}

function findNeighbours(sections: readonly Section[]): Pick<LaidOut, 'nextOf' | 'pairs'> {
  const nextOf = new Map<number, number>();
  const pairs: [number, number][] = [];
  let before: Slot = [];
  for (const slots of sections.flatMap(({ caches }) => caches))
    for (const [place, slot] of slots.entries()) {
      for (const [thread, cpu] of slot.entries()) {
        if (cpu === undefined) continue;
        const left = before[thread];
        const above = thread > 0 ? slot[thread - 1] : slots[place - ROW]?.at(-1);
        if (left !== undefined && place % ROW !== 0) nextOf.set(left, cpu);
        for (const other of [left, above]) if (other !== undefined) pairs.push([other, cpu]);
      }
      before = slot;
    }
  return { nextOf, pairs };
}

/** The owners around each owner. */
function describeNeighbours(
  owners: readonly Owner[],
  { pairs, topology }: Pick<LaidOut, 'pairs' | 'topology'>,
  ownerOf: (cpu: number) => Owner | undefined,
): Toned[] {
  const around = new Map(
    owners.map((owner) => [owner, { key: keyOf(owner), touching: new Set<string>(), nearby: new Set<string>() }]),
  );
  for (const [a, b] of pairs.map((pair) => pair.map(ownerOf)))
    if (a && b && a !== b) {
      around.get(a)!.touching.add(keyOf(b));
      around.get(b)!.touching.add(keyOf(a));
    }
  for (const { cpus } of topology.uncoreCaches) {
    const inside = new Set(cpus.toArray().map(ownerOf));
    if (inside.size > MOST_NEARBY) continue;
    for (const a of inside) for (const b of inside) if (a && b && a !== b) around.get(a)!.nearby.add(keyOf(b));
  }
  return [...around.values()];
}

/** Above this number of owners of one cache no colours are left for all of them anyway. */
const MOST_NEARBY = 32;

/** Gives the verdict of an owner whose containers do not have what they were promised. */
function findBroken(containers: readonly ContainerStatus[]): (owner: Owner) => DrawnOwner['broken'] {
  const kinds = new Map<string, DrawnOwner['broken']>();
  for (const { podUid, container, verdict } of containers) {
    const broken = BROKEN.find((kind) => kind === verdict.kind);
    if (broken) kinds.set(`${podUid}/${container}`, broken);
  }
  return ({ podUid, containers: names }) => {
    const own = new Set(names.map((name) => kinds.get(`${podUid}/${name}`)));
    return BROKEN.find((kind) => own.has(kind));
  };
}

interface CellParts {
  readonly use: Use;
  readonly mark: string;
  readonly owner: DrawnOwner | undefined;
  readonly where: string;
  /** The CPU on its right has the same owner. */
  readonly isJoined: boolean;
}

function drawCell(cpu: number, { use, mark, owner, where, isJoined }: CellParts): Fragment {
  const id = `cpu-${cpu}`;
  const place = where === '' ? `CPU ${cpu}` : `CPU ${cpu} (${where})`;
  const description = owner
    ? [mark, use, nameOf(owner.owner), ...(owner.broken ? [owner.broken] : [])].join(', ')
    : use;
  const label = `${place}: ${description}`;
  const shown = mark === PLAIN_MARKS.shared ? '·' : mark === PLAIN_MARKS.offline ? '×' : mark;
  const drawn = owner
    ? html`<a
        id="${id}"
        class="cpu ${use} ${classesOf(owner)}${isJoined && ' joined'}"
        href="#${owner.id}"
        tabindex="-1"
        title="${label}"
        aria-label="${label}"
        >${shown}</a
      >`
    : html`<span id="${id}" class="cpu ${use}" role="img" tabindex="-1" title="${label}" aria-label="${label}"
        >${shown}</span
      >`;
  return { id, html: drawn };
}

/** Colour and verdict of an owner as classes of its squares. */
function classesOf({ tone, broken }: DrawnOwner): string {
  return broken ? `t${tone} ${broken}` : `t${tone}`;
}

interface MachineParts {
  readonly topology: Topology;
  /** The name of each CPU's cache; empty where none is known. */
  readonly cacheOf: ReadonlyMap<number, string>;
  readonly cells: readonly Fragment[];
}

function nameCache({ id, level }: { readonly id: number; readonly level: CacheLevel }): string {
  return level === 'none' ? '' : `${level} ${id}`;
}

/** Sockets, in them NUMA nodes, in them caches, in them cores, in them threads one above the other. */
function drawMachine(sections: readonly Section[], { topology, cacheOf, cells }: MachineParts): Html {
  const cellOf = new Map(cells.map(({ id, html }) => [id, html]));
  const drawn = new Set<string>();
  const drawCpu = (cpu: number | undefined): Html => {
    const id = `cpu-${cpu}`;
    drawn.add(id);
    return cellOf.get(id) ?? html`<span class="cpu none"></span>`;
  };
  const drawCache = (slots: Section['caches'][number]): Html => {
    const cache = cacheOf.get(slots[0]?.find((cpu) => cpu !== undefined && cacheOf.has(cpu)) ?? -1) ?? '';
    const rows = Array.from({ length: Math.ceil(slots.length / ROW) }, (_, row) =>
      drawRow(slots.slice(row * ROW, (row + 1) * ROW), drawCpu),
    );
    const label = cache === '' ? 'no L3 known' : cache;
    return html`<div class="cache" role="group" aria-label="${label}">
      <span class="name" aria-hidden="true">${cache}</span>
      <div class="cores">${drawEvenly(rows)}</div>
    </div>`;
  };
  const drawNode = ({ numaNode, caches }: Section): Html => {
    const bytes = memoryBytesOf(topology, numaNode);
    const memory = bytes > 0 ? `, ${Math.round(bytes / 2 ** 30)} GiB` : '';
    return html`<div class="node" role="group" aria-label="NUMA node ${numaNode}">
      <h4>NUMA node ${numaNode}${memory}</h4>
      <div class="caches">${drawEvenly(caches.map(drawCache))}</div>
    </div>`;
  };
  const sockets = [...new Set(sections.map(({ socket }) => socket))];
  const panels = sockets.map((socket) => {
    const nodes = sections.filter((section) => section.socket === socket).map(drawNode);
    return html`<section class="socket" aria-label="socket ${socket}">
      <h3>Socket ${socket}</h3>
      <div class="nodes">${drawEvenly(nodes)}</div>
    </section>`;
  });
  const rest = cells.filter(({ id }) => !drawn.has(id));
  const others =
    rest.length > 0 &&
    html`<section class="socket" aria-label="offline CPUs">
      <h3>Offline</h3>
      <div class="rest">${rest.map(({ html }) => html)}</div>
    </section>`;
  const digits = String(Math.max(0, ...topology.cpus.map(({ id }) => id))).length;
  return html`<div
    id="map"
    class="map digits-${digits}"
    role="group"
    aria-label="Map of the CPUs"
    aria-describedby="map-help"
  >
    ${panels}${others}
  </div>`;
}

/** Some cores, after the numbers of their first CPUs: one for each row of threads. */
function drawRow(slots: readonly Slot[], drawCpu: (cpu: number | undefined) => Html): Html {
  const firsts = slots[0]!.map((cpu) => html`<span>${cpu}</span>`);
  const cores = slots.map((slot) => html`<span class="core">${slot.map(drawCpu)}</span>`);
  return html`<div class="row"><span class="firsts" aria-hidden="true">${firsts}</span>${cores}</div>`;
}

/**
 * Elements side by side. Where there is no room for all of them, halves come one below the other, and then their
 * halves: 8, 4 + 4, 2 + 2 + 2 + 2.
 */
function drawEvenly(elements: readonly Html[]): Html {
  if (elements.length <= 2 || elements.length % 2 === 1) return html`${elements}`;
  const half = elements.length / 2;
  return html`<div class="half">${drawEvenly(elements.slice(0, half))}</div>
    <div class="half">${drawEvenly(elements.slice(half))}</div>`;
}

function drawLegend(
  { owners, unowned, offline, topology }: MachineView,
  drawn: readonly DrawnOwner[],
): readonly Fragment[] {
  const rows = drawn.map((each): Fragment => {
    const { owner, id, broken } = each;
    const { mark, kind, isIdle, isPlanned, cpus, nodes, namespace, pod, containers } = owner;
    const use = [isPlanned ? 'planned' : isIdle ? 'idle' : kind, ...(broken ? [broken] : [])].join(', ');
    const has = cpus.isEmpty ? `NUMA ${nodes.toString()}` : cpus.toString();
    return {
      id,
      html: html`<li
        id="${id}"
        data-mark="${mark}"
        data-uid="${owner.podUid}"
        data-containers="${containers.join(' ')}"
      >
        <span class="cpu ${isIdle ? 'idle' : kind} ${classesOf(each)}">${mark}</span>
        <span class="who">${namespace}/${pod} <b>${containers.join(', ')}</b></span> <span class="use">${use}</span>
        <span class="list">${has}</span>
      </li>`,
    };
  });
  if (!unowned) return rows;
  const owned = owners.reduce((all, { cpus }) => all.union(cpus), offline.minus(offline));
  const reserved = unowned.reserved.intersect(topology.online).minus(owned);
  const shared = unowned.sharedPool.minus(owned).minus(reserved);
  const plain: readonly (readonly [id: string, use: Use, mark: string, cpus: string, who: string])[] = [
    ['use-shared', 'shared', '·', shared.toString(), 'everybody else'],
    [
      'use-reserved',
      'reserved',
      '#',
      reserved.toString(),
      unowned.strict ? 'the system alone' : 'the system; shared containers run here too',
    ],
    ['use-offline', 'offline', '×', offline.toString(), 'nobody'],
    [
      'use-barred',
      'barred',
      PLAIN_MARKS.barred,
      barredCpus(topology).toString(),
      `not in the cgroup ${topology.confinement?.bound.cgroup ?? ''}`,
    ],
  ];
  return [
    ...rows,
    ...plain
      .filter(([, , , cpus]) => cpus !== '')
      .map(([id, use, mark, cpus, who]) => ({
        id,
        html: html`<li id="${id}">
          <span class="cpu ${use}">${mark}</span> <span class="who">${who}</span> <span class="use">${use}</span>
          <span class="list">${cpus}</span>
        </li>`,
      })),
  ];
}

/** Ids of elements are as stable as the marks. */
function legendId({ mark }: Owner, index: number): string {
  return mark === '' ? `owner-${index}` : `owner-${mark}`;
}

function nameOf({ namespace, pod, containers }: Owner): string {
  return `${namespace}/${pod} ${containers.join(', ')}`;
}

/** The same for as long as the owner lives. */
function keyOf({ podUid, containers }: Owner): string {
  return `${podUid}/${[...containers].sort(compareTexts).join()}`;
}
