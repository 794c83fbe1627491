import { compareTexts, plural } from '../../../core/text';
import { describeLocation, type Topology } from '../../../core/topology';
import { cellsOf, type JournalRecord } from '../../../state/journal';
import type { Explanation } from '../../model/explanation';
import type { ContainerStatus, IdleAssignment, Status } from '../../model/status';
import type { VerdictKind } from '../../../core/verdict/judge';
import { KEPT_BY_API_SERVER, levelOf, summarize, type Level } from '../../status-summary';
import type { Fragment } from './fragments';
import { html, toId, type Html } from './html';
import { drawTime, drawTimesIn } from './time';

/** The parts of the node, each with its level in words, what is wrong, and what to do. */
export function renderParts(status: Status): readonly Fragment[] {
  return summarize(status).map(({ part, level, text, remedy }) => {
    const id = `part-${part.replace(/[^a-z]/g, '-')}`;
    const todo = remedy !== undefined && html` <span class="remedy">${remedy}</span>`;
    const href = part === 'promises' && level !== 'ok' ? linkToVerdicts(notKept(status)) : undefined;
    const link = href !== undefined && html` <a href="${href}">Show them</a>`;
    return {
      id,
      html: html`<li id="${id}" class="${level}">
        <span class="level">${level}</span> <b>${part}</b> <span class="text">${drawTimesIn(text)}${link}</span>${todo}
      </li>`,
    };
  });
}

/** The verdicts of the containers in the table that need a look. */
function notKept({ containers }: Status): readonly VerdictKind[] {
  const rows = containers.filter(({ pause, promise, verdict }) => !pause && promise && levelOf(verdict.kind) !== 'ok');
  return [...new Set(rows.map(({ verdict }) => verdict.kind))].sort(compareTexts);
}

/** Leads to the containers with these verdicts; without the script to the table, where they come first. undefined for no verdict. */
function linkToVerdicts(kinds: readonly VerdictKind[]): string | undefined {
  return kinds.length === 0 ? undefined : `/?show=verdict:${kinds.join('|')}#containers-title`;
}

/** Verdicts of containers that do not have what they were promised. */
const BROKEN: readonly VerdictKind[] = ['drifted', 'violated'];

/** The node in numbers. */
export function renderNumbers({ node, containers }: Status): readonly Fragment[] {
  const { online, reserved, sharedPool, free } = node;
  const running = containers.filter(({ pause }) => !pause);
  const unmanaged = running.filter(({ promise }) => !promise).length;
  const broken = running.filter(({ verdict }) => BROKEN.includes(verdict.kind)).length;
  const numbers: readonly (readonly [
    id: string,
    value: number,
    name: string,
    list?: string,
    href?: string | undefined,
  ])[] = [
    ['online', online.size, 'CPUs online', online.toString()],
    [
      'pinned',
      online.minus(sharedPool).minus(reserved).size,
      'exclusive',
      online.minus(sharedPool).minus(reserved).toString(),
    ],
    ['pool', sharedPool.size, 'in the shared pool', sharedPool.toString()],
    ['free', free.size, 'free to give out', free.toString()],
    ['reserved', reserved.size, 'reserved', reserved.toString()],
    [
      'running',
      running.length,
      'containers',
      unmanaged > 0 ? `${unmanaged} without a promise` : '',
      '#containers-title',
    ],
    ['broken', broken, 'drifted or violated', '', broken > 0 ? linkToVerdicts(BROKEN) : undefined],
  ];
  return numbers.map(([name, value, text, list, href]) => ({
    id: `number-${name}`,
    html: html`<div id="number-${name}" class="number${name === 'broken' && value > 0 && ' bad'}">
      <dt>${text}</dt>
      <dd>
        ${href === undefined ? value : html`<a href="${href}" aria-label="${value} ${text}: show them">${value}</a>`}${list !== undefined && list !== '' && html`<small>${list}</small>`}
      </dd>
    </div>`,
  }));
}

/** The line below the title. Version, runtime and times are at their parts. */
export function renderNode({ node }: Status): Fragment {
  const policy = [node.policy, ...node.policyOptions].join(', ');
  return { id: 'node', html: html`<p id="node">policy ${policy}</p>` };
}

/** Rows of the table of containers: the worst verdicts first, then by name. An object of the status always gives the same row. */
export class ContainerRows {
  private readonly rows = new WeakMap<
    ContainerStatus | IdleAssignment,
    { readonly key: string; readonly row: Fragment }
  >();
  private last: { readonly of: Pick<Status, 'containers' | 'idle'>; readonly rows: readonly Fragment[] } | undefined;

  render({ containers, idle }: Status): readonly Fragment[] {
    if (this.last?.of.containers === containers && this.last.of.idle === idle) return this.last.rows;
    const running = containers
      .filter(({ pause }) => !pause)
      .map((of) => this.rowOf(of, `c-${toId(of.id)}`, levelOf(of.verdict.kind), drawContainer));
    const exited = idle.map((of) => this.rowOf(of, `i-${toId(of.podUid)}-${toId(of.container)}`, 'ok', drawIdle));
    const rows = [...running, ...exited].sort((a, b) => compareTexts(a.key, b.key)).map(({ row }) => row);
    this.last = { of: { containers, idle }, rows };
    return rows;
  }

  private rowOf<T extends ContainerStatus | IdleAssignment>(
    of: T,
    id: string,
    level: Level,
    draw: (of: T, id: string) => Html,
  ) {
    const known = this.rows.get(of);
    if (known) return known;
    const key = `${RANKS[level]} ${of.namespace}/${of.pod}/${of.container} ${id}`;
    const made = { key, row: { id, html: draw(of, id) } };
    this.rows.set(of, made);
    return made;
  }
}

const RANKS: Readonly<Record<Level, number>> = { error: 0, warning: 1, ok: 2 };

function drawContainer(of: ContainerStatus, id: string): Html {
  const { namespace, pod, container, placement, promise, observation, verdict, because, since, podUid, kind } = of;
  const own = kind && kind !== 'numa' ? (promise?.cpus.toString() ?? '') : '';
  return html`<tr
    id="${id}"
    class="${verdict.kind}"
    data-uid="${podUid}"
    data-container="${container}"
    data-cpus="${own}"
  >
    <th scope="row"><span class="ns">${namespace}/</span>${pod} <b>${container}</b></th>
    <td data-name="Placement">${placement}</td>
    <td data-name="Promise" class="list">${promise?.cpus.toString() ?? '-'}</td>
    <td data-name="Observed" class="list">${observation?.cpus.toString() ?? '-'}</td>
    <td data-name="Verdict"><span class="verdict">${verdict.kind}</span></td>
    <td data-name="Why" class="why">
      ${because}${verdict.reason !== '' && verdict.reason !== because && html` <span class="reason">${verdict.reason}</span>`}
    </td>
    <td data-name="Since" class="time">${drawTime(since)}</td>
  </tr>`;
}

function drawIdle(of: IdleAssignment, id: string): Html {
  const { namespace, pod, container, cpus, nodes, because, since, planned, podUid, keptByApiServer } = of;
  const state = planned ? 'planned' : 'idle';
  const why = planned
    ? 'kept for a container that was not created yet'
    : keptByApiServer
      ? KEPT_BY_API_SERVER
      : 'its container has exited: they stay with the pod';
  return html`<tr
    id="${id}"
    class="idle"
    data-uid="${podUid}"
    data-container="${container}"
    data-cpus="${cpus.toString()}"
  >
    <th scope="row"><span class="ns">${namespace}/</span>${pod} <b>${container}</b></th>
    <td data-name="Placement">${state}</td>
    <td data-name="Promise" class="list">${cpus.isEmpty ? `NUMA ${nodes?.toString() ?? '-'}` : cpus.toString()}</td>
    <td data-name="Observed" class="list">-</td>
    <td data-name="Verdict">-</td>
    <td data-name="Why" class="why">${because} <span class="reason">${why}</span></td>
    <td data-name="Since" class="time">${drawTime(since)}</td>
  </tr>`;
}

/** Kinds of records that need a look. */
const BAD_KINDS = new Set(['refused', 'drifted', 'repair-failed', 'gap', 'alarm', 'not-switched', 'found-unpinned']);

/** Rows of the history, the latest first. */
export class HistoryRows {
  private readonly rows = new WeakMap<JournalRecord, Fragment>();
  private count = 0;

  render(records: readonly JournalRecord[]): readonly Fragment[] {
    return records.map((record) => this.rowOf(record)).reverse();
  }

  private rowOf(record: JournalRecord): Fragment {
    const known = this.rows.get(record);
    if (known) return known;
    const id = `h-${this.count++}`;
    const [, kind, pod, container, cpus, text] = cellsOf(record);
    const row = {
      id,
      html: html`<tr id="${id}" ${BAD_KINDS.has(record.kind) && html` class="bad"`}>
        <td class="time">${drawTime(record.at)}</td>
        <td data-name="Event"><span class="kind">${kind}</span></td>
        <th scope="row">${pod} <b>${container}</b></th>
        <td data-name="CPUs" class="list">${cpus}</td>
        <td data-name="Why" class="why">${text}</td>
      </tr>`,
    };
    this.rows.set(record, row);
    return row;
  }
}

/** The answer of the what-if box. */
export function renderFit(explanation: Explanation, count: number, topology: Topology): Html {
  if (explanation.kind !== 'what-if') return html``;
  const { fits, cpus, because, steps } = explanation;
  const title = fits
    ? `${plural(count, 'CPU')} would fit: ${cpus.toString()}`
    : `${plural(count, 'CPU')} would not fit`;
  const where = describeLocation(topology, cpus);
  const taken = steps.map(
    ({ rule, took, because: why }) => html`<li><b>${rule}</b> <span class="list">${took.toString()}</span> ${why}</li>`,
  );
  return html`<div class="answer ${fits ? 'ok' : 'error'}" data-cpus="${cpus.toString()}">
    <h3>${title}</h3>
    <p>${because}${where !== '' && html`<br />${where}`}</p>
    ${
      taken.length > 0 &&
      html`<ol>
        ${taken}
      </ol>`
    }
  </div>`;
}

/** The answer to what is no number of CPUs. */
export function renderFitProblem(problem: string): Html {
  return html`<div class="answer error"><p>${problem}</p></div>`;
}
