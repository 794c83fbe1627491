import { compareTexts, formatPercent, plural } from '../../../core/text';
import { describeLocation, type Topology } from '../../../core/topology';
import type { Explanation } from '../../model/explanation';
import type { ContainerStatus, IdleAssignment, RefusalSummary, Status } from '../../model/status';
import type { VerdictKind } from '../../../core/verdict/judge';
import type { Level } from '../../summary/part-summary';
import { KEPT_BY_API_SERVER } from '../../summary/peers';
import { BROKEN, levelOf } from '../../summary/promises';
import { summarize } from '../../summary/summarize';
import type { Fragment } from './fragments';
import { historyOfPod } from './history';
import { html, toId, type Html } from './html';
import { drawTime, drawTimesIn } from './time';

/** The parts of the node, each with its level in words, what is wrong, and what to do. */
export function renderParts(status: Status): readonly Fragment[] {
  return summarize(status).map(({ part, level, text, remedy }) => {
    const id = `part-${part.replace(/[^a-z]/g, '-')}`;
    const todo = remedy !== undefined && html` <span class="remedy">${remedy}</span>`;
    const href = level === 'ok' ? undefined : linkFrom(part, status);
    const link = href !== undefined && html` <a href="${href}">${nameLink(part, status)}</a>`;
    return {
      id,
      html: html`<li id="${id}" class="${level}">
        <span class="level">${level}</span> <b>${part}</b> <span class="text">${drawTimesIn(text)}${link}</span>${todo}
      </li>`,
    };
  });
}

/** Leads to the containers that the text of a part is about. */
function linkFrom(part: string, status: Status): string | undefined {
  if (part === 'promises') return linkToVerdicts(notKept(status));
  return part === 'refused' ? linkToVerdicts([REFUSED]) : undefined;
}

/** Not all refusals are listed. */
function nameLink(part: string, { node: { refused } }: Status): string {
  const isCut = part === 'refused' && refused !== undefined && refused.latest.length < refused.containers;
  return isCut ? `Show the latest ${refused.latest.length}` : 'Show them';
}

/** Stands in place of a verdict. */
const REFUSED = 'refused';

/** The verdicts of the containers in the table that need a look. */
function notKept({ containers }: Status): readonly VerdictKind[] {
  const rows = containers.filter(({ pause, promise, verdict }) => !pause && promise && levelOf(verdict.kind) !== 'ok');
  return [...new Set(rows.map(({ verdict }) => verdict.kind))];
}

/**
 * Leads to the containers with these verdicts; without the script to the table, where they come first. undefined for no
 * verdict.
 */
function linkToVerdicts(kinds: readonly string[]): string | undefined {
  return kinds.length === 0 ? undefined : `/?show=verdict:${[...kinds].sort(compareTexts).join('|')}#containers-title`;
}

/** The node in numbers. */
export function renderNumbers({ node, containers }: Status): readonly Fragment[] {
  const { online, reserved, sharedPool, free } = node;
  const running = containers.filter(({ pause }) => !pause);
  const unmanaged = running.filter(({ promise }) => !promise).length;
  const broken = running.filter(({ verdict }) => BROKEN.some((kind) => kind === verdict.kind)).length;
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

/** The line below the title: the node and its policy. Version, runtime and times are at their parts. */
export function renderNode({ node }: Status): Fragment {
  const policy = [node.policy, ...node.policyOptions].join(', ');
  const name = node.nodeName !== undefined && html`<b>${node.nodeName}</b>, `;
  return { id: 'node', html: html`<p id="node">${name}policy ${policy}</p>` };
}

type Subject = ContainerStatus | IdleAssignment | RefusalSummary;

/**
 * Rows of the table of containers, and of those that were refused: the worst verdicts first, then by name. An object of
 * the status always gives the same row.
 */
export class ContainerRows {
  private readonly rows = new WeakMap<Subject, { readonly key: string; readonly row: Fragment }>();
  private last: { readonly lists: readonly unknown[]; readonly rows: readonly Fragment[] } | undefined;

  render({ containers, idle, node }: Status): readonly Fragment[] {
    const lists = [containers, idle, node.refused];
    if (this.last?.lists.every((each, index) => each === lists[index])) return this.last.rows;
    const running = containers
      .filter(({ pause }) => !pause)
      .map((container) =>
        this.rowOf(container, `c-${toId(container.id)}`, levelOf(container.verdict.kind), drawContainer),
      );
    const exited = idle.map((assignment) =>
      this.rowOf(assignment, `i-${toId(assignment.podUid)}-${toId(assignment.container)}`, 'ok', drawIdle),
    );
    const refused = (node.refused?.latest ?? []).map((each) =>
      this.rowOf(
        each,
        `r-${toId(`${each.podUid}/${each.namespace}/${each.pod}/${each.container}`)}`,
        'warning',
        drawRefused,
      ),
    );
    const rows = [...running, ...exited, ...refused].sort((a, b) => compareTexts(a.key, b.key)).map(({ row }) => row);
    this.last = { lists, rows };
    return rows;
  }

  private rowOf<T extends Subject>(subject: T, id: string, level: Level, draw: (subject: T, id: string) => Html) {
    const known = this.rows.get(subject);
    if (known) return known;
    const key = `${RANKS[level]} ${subject.namespace}/${subject.pod}/${subject.container} ${id}`;
    const made = { key, row: { id, html: draw(subject, id) } };
    this.rows.set(subject, made);
    return made;
  }
}

const RANKS: Readonly<Record<Level, number>> = { error: 0, warning: 1, ok: 2 };

function drawContainer(status: ContainerStatus, id: string): Html {
  const { namespace, pod, container, placement, promise, observation, verdict, because, since, podUid, kind } = status;
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
    <td data-name="Verdict"><span class="verdict">${verdict.kind}</span>${drawDrift(status)}${drawForeign(status)}</td>
    <td data-name="Why" class="why">
      ${because}${verdict.reason !== '' && verdict.reason !== because && html` <span class="reason">${verdict.reason}</span>`}
    </td>
    <td data-name="Since" class="time">${drawTime(since)} ${linkToHistory(status)}</td>
  </tr>`;
}

function drawDrift({ drift }: ContainerStatus): Html | undefined {
  return (
    drift && html` <span class="tally">${plural(drift.drifts, 'drift')}, the last ${drawTime(drift.lastAt)}</span>`
  );
}

/** Others on the container's CPUs, as far as the audit has looked. */
function drawForeign({ foreign }: ContainerStatus): Html | undefined {
  if (!foreign) return undefined;
  const { percent, threads, most } = foreign;
  const text =
    threads === 0 ? 'nobody else seen on it' : `others used ${formatPercent(percent)} of it, most by ${most}`;
  return html` <span class="tally">${text}</span>`;
}

/** For those who point: the form of the history takes a name from the keyboard, without a stop at each row. */
function linkToHistory(subject: Subject): Html {
  const name = `history of ${subject.namespace}/${subject.pod}`;
  return html`<a class="to-history" href="${historyOfPod(subject)}" tabindex="-1" aria-label="${name}">history</a>`;
}

function drawRefused(refusal: RefusalSummary, id: string): Html {
  const { namespace, pod, container, podUid, because, times, lastAt } = refusal;
  return html`<tr id="${id}" class="${REFUSED}" data-uid="${podUid}" data-container="${container}" data-cpus="">
    <th scope="row"><span class="ns">${namespace}/</span>${pod} <b>${container}</b></th>
    <td data-name="Placement">-</td>
    <td data-name="Promise" class="list">-</td>
    <td data-name="Observed" class="list">-</td>
    <td data-name="Verdict">
      <span class="verdict">${REFUSED}</span>
      <span class="tally">${describeAsked(refusal)}${plural(times, 'time')}</span>
    </td>
    <td data-name="Why" class="why">
      ${because} <span class="reason">More: <code>cpusetd explain ${namespace}/${pod}</code></span>
    </td>
    <td data-name="Last" class="time">${drawTime(lastAt)} ${linkToHistory(refusal)}</td>
  </tr>`;
}

/** The refused request, where it is not the container itself. */
function describeAsked({ asked }: RefusalSummary): string {
  return asked === 'start' ? 'its start, ' : asked === 'change' ? 'a change of its resources, ' : '';
}

function drawIdle(assignment: IdleAssignment, id: string): Html {
  const { namespace, pod, container, cpus, nodes, because, since, planned, podUid, keptByApiServer } = assignment;
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
    <td data-name="Since" class="time">${drawTime(since)} ${linkToHistory(assignment)}</td>
  </tr>`;
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
