import { CpuSet } from '../../../core/cpuset';
import { compareTexts } from '../../../core/text';
import { barredCpus, kindsOf, machineOf, memoryBytesOf, type CacheLevel, type Topology } from '../../../core/topology';
import { layOut, type Section } from '../../machine/layout';
import { findUse, PLAIN_MARKS, type MachineView, type Owner, type Use } from '../../machine/machine-view';
import type { Fragment, FragmentList, Machine } from './fragments';
import { html, type Html } from './html';

/** Number of colours for owners in the style sheet. */
const TONES = 12;

/** The map of a machine, and its CPUs with their owners. */
export class MapRenderer {
  private machine: { readonly topology: Topology; readonly offline: string; readonly shown: Machine } | undefined;
  private cells = new Map<number, { readonly key: string; readonly fragment: Fragment }>();

  render(view: MachineView): {
    readonly machine: Machine;
    readonly cells: readonly Fragment[];
    readonly legend: FragmentList;
  } {
    const machine = this.layOutOnce(view);
    const legend = new Map(view.owners.map((owner, index) => [owner, legendId(owner, index)]));
    const whole = machineOf(view.topology);
    const places = new Map(whole.cpus.map((cpu) => [cpu.id, cpu]));
    const cells = whole.online
      .union(view.offline)
      .toArray()
      .map((cpu) => {
        const { use, owner, mark } = findUse(view, cpu);
        const key = `${use} ${mark} ${owner ? `${toneOf(owner)} ${nameOf(owner)}` : ''}`;
        const known = this.cells.get(cpu);
        if (known?.key === key) return known.fragment;
        const place = places.get(cpu);
        const kinds = kindsOf(whole, CpuSet.of([cpu])).map((kind) => ` (${kind})`);
        const where = place
          ? `core ${place.core}${kinds.join('')}, socket ${place.socket}, NUMA node ${place.numaNode}`
          : '';
        const fragment = drawCell(cpu, { use, mark, owner, where, target: owner && legend.get(owner)! });
        this.cells.set(cpu, { key, fragment });
        return fragment;
      });
    return { machine, cells, legend: { id: 'legend', items: drawLegend(view, legend) } };
  }

  private layOutOnce({ topology: usable, offline }: MachineView): Machine {
    const topology = machineOf(usable);
    const offlineList = offline.toString();
    if (this.machine?.topology !== topology || this.machine.offline !== offlineList) {
      const sections = layOut(topology, offline);
      const unitOf = new Map(topology.uncoreCaches.map((unit) => [unit.id, unit]));
      const cacheOf = new Map(topology.cpus.map(({ id, uncoreCache }) => [id, nameCache(unitOf.get(uncoreCache)!)]));
      const { memoryNodes, coreKinds } = topology;
      const layout = JSON.stringify([sections, memoryNodes, coreKinds, [...cacheOf.values()], offlineList]);
      const draw = (cells: readonly Fragment[]): Html => drawMachine(sections, { topology, cacheOf, cells });
      this.machine = { topology, offline: offlineList, shown: { layout, draw } };
      this.cells.clear();
    }
    return this.machine.shown;
  }
}

interface CellParts {
  readonly use: Use;
  readonly mark: string;
  readonly owner: Owner | undefined;
  readonly where: string;
  readonly target: string | undefined;
}

function drawCell(cpu: number, { use, mark, owner, where, target }: CellParts): Fragment {
  const id = `cpu-${cpu}`;
  const place = where === '' ? `CPU ${cpu}` : `CPU ${cpu} (${where})`;
  const label = owner ? `${place}: ${mark}, ${use}, ${nameOf(owner)}` : `${place}: ${use}`;
  const shown = mark === PLAIN_MARKS.shared ? '·' : mark === PLAIN_MARKS.offline ? '×' : mark;
  const drawn = owner
    ? html`<a
        id="${id}"
        class="cpu ${use} t${toneOf(owner)}"
        href="#${target}"
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
    const cores = slots.map((slot) => html`<span class="core">${slot.map(drawCpu)}</span>`);
    const label = cache === '' ? 'no L3 known' : cache;
    return html`<div class="cache" role="group" aria-label="${label}">
      <span class="name" aria-hidden="true">${cache}</span><span class="cores">${cores}</span>
    </div>`;
  };
  const drawNode = ({ numaNode, caches }: Section): Html => {
    const bytes = memoryBytesOf(topology, numaNode);
    const memory = bytes > 0 ? `, ${Math.round(bytes / 2 ** 30)} GiB` : '';
    return html`<div class="node" role="group" aria-label="NUMA node ${numaNode}">
      <h4>NUMA node ${numaNode}${memory}</h4>
      <div class="caches">${caches.map(drawCache)}</div>
    </div>`;
  };
  const sockets = [...new Set(sections.map(({ socket }) => socket))];
  const panels = sockets.map((socket) => {
    const nodes = sections.filter((section) => section.socket === socket).map(drawNode);
    return html`<section class="socket" aria-label="socket ${socket}">
      <h3>Socket ${socket}</h3>
      <div class="nodes">${nodes}</div>
    </section>`;
  });
  const rest = cells.filter(({ id }) => !drawn.has(id));
  const others =
    rest.length > 0 &&
    html`<section class="socket" aria-label="offline CPUs">
      <h3>Offline</h3>
      <span class="cores">${rest.map(({ html }) => html)}</span>
    </section>`;
  return html`<div id="map" class="map">${panels}${others}</div>`;
}

function drawLegend({ owners, unowned, offline, topology }: MachineView, ids: ReadonlyMap<Owner, string>): Fragment[] {
  const rows = owners.map((owner): Fragment => {
    const { mark, kind, isIdle, isPlanned, cpus, nodes, namespace, pod, containers } = owner;
    const id = ids.get(owner)!;
    const use = isPlanned ? 'planned' : isIdle ? 'idle' : kind;
    const has = cpus.isEmpty ? `NUMA ${nodes.toString()}` : cpus.toString();
    return {
      id,
      html: html`<li
        id="${id}"
        data-mark="${mark}"
        data-uid="${owner.podUid}"
        data-containers="${containers.join(' ')}"
      >
        <span class="cpu ${isIdle ? 'idle' : kind} t${toneOf(owner)}">${mark}</span>
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

/** An owner keeps its colour for life, whoever else comes and goes. */
function toneOf({ podUid, containers }: Owner): number {
  let hash = 0;
  for (const character of `${podUid}/${[...containers].sort(compareTexts).join()}`)
    hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0;
  return ((hash ^ (hash >>> 15)) >>> 0) % TONES;
}
