import {
  compareTexts,
  formatCpuShare,
  formatMemory,
  formatPercent,
  formatQuota,
  formatTime,
  plural,
} from '../../../core/text';
import { isTriggered, type PromisedSetStatus, type QosStatus, type UsageStatus } from '../../model/qos-status';
import type { Status } from '../../model/status';
import { formatLent } from '../../summary/usage';
import type { Fragment } from './fragments';
import { html, type Html } from './html';
import { drawTime, drawTimesIn } from './time';

/** Most rows of a table; `cpusetd qos` has all. */
const MAX_ROWS = 100;

/**
 * The use of the node, of promised CPUs, rules and their actions: a section for each that there is. Nothing while all
 * of it is off.
 */
export function renderUse({ node: { usage, qos, lent } }: Status): readonly Fragment[] {
  const numbers = [
    ...(usage ? numbersOf(usage) : []),
    ...(qos ? numbersOfQos(qos) : []),
    ...(lent ? [['lent', formatLent(lent), lent.because] as const] : []),
  ];
  if (numbers.length === 0) return [];
  const head = html`<section id="use-node" aria-labelledby="use-title">
    <h2 id="use-title">Use and rules</h2>
    <p class="help">${usage && html`Read ${drawTime(usage.at)}. `}<code>cpusetd qos</code> has all of it.</p>
    <dl class="numbers">${numbers.map(drawNumber)}</dl>
  </section>`;
  return [
    { id: 'use-node', html: head },
    ...(usage && usage.sets.length > 0 ? [renderSets(usage.sets)] : []),
    ...(qos && qos.rules.length > 0 ? [renderRules(qos.rules)] : []),
    ...(qos && qos.throttled.length > 0 ? [renderThrottled(qos.throttled)] : []),
    ...(qos && qos.recent.length > 0 ? [renderActions(qos)] : []),
  ];
}

type Figure = readonly [name: string, value: string, more: string, isBad?: boolean];

function numbersOf(usage: UsageStatus): readonly Figure[] {
  const { cpuCores, cpuPercent, memoryBytes, memoryTotalBytes, load1 } = usage;
  const { exclusiveOwnersMilliCpu, exclusiveOthersMilliCpu, exclusiveIdleMilliCpu } = usage;
  return [
    ...(cpuPercent === undefined
      ? []
      : [['CPUs busy', formatPercent(cpuPercent), `of ${plural(cpuCores, 'CPU')}`] as const]),
    ...(memoryBytes === undefined || memoryTotalBytes === undefined
      ? []
      : [['memory used', formatMemory(memoryBytes), `of ${formatMemory(memoryTotalBytes)}`] as const]),
    ...(load1 === undefined ? [] : [['load', load1.toFixed(2), 'over 1 minute'] as const]),
    ...figureOf('exclusive, by owners', exclusiveOwnersMilliCpu, 'used by the containers that have them'),
    ...figureOf('exclusive, by others', exclusiveOthersMilliCpu, 'host processes, kernel threads, interrupts'),
    ...figureOf('exclusive, unused', exclusiveIdleMilliCpu, 'of all exclusive CPUs together'),
  ];
}

function figureOf(name: string, milliCpu: number | undefined, more: string): readonly Figure[] {
  return milliCpu === undefined ? [] : [[name, formatCpuShare(milliCpu), more]];
}

function numbersOfQos({
  mode,
  because,
  schedulingDisabled,
  throttled,
  actionsLeft,
  evictionsLeft,
}: QosStatus): readonly Figure[] {
  const left = `${plural(actionsLeft, 'action')} and ${plural(evictionsLeft, 'eviction')} left in this hour`;
  return [
    ['rules', mode, because === '' ? left : `no rule is followed: ${because}`],
    ['throttled', plural(throttled.length, 'container'), '', throttled.length > 0],
    ...(schedulingDisabled
      ? [
          [
            'new pods',
            'kept away',
            `since ${formatTime(schedulingDisabled.since)}: ${schedulingDisabled.because}`,
            true,
          ] as const,
        ]
      : []),
  ];
}

function drawNumber([name, value, more, isBad = false]: Figure): Html {
  return html`<div class="number${isBad && ' bad'}">
    <dt>${name}</dt>
    <dd>${value}${more !== '' && html`<small>${drawTimesIn(more)}</small>`}</dd>
  </div>`;
}

/** Those that waited most, by name. */
function renderSets(sets: readonly PromisedSetStatus[]): Fragment {
  const shown = [...sets]
    .sort((a, b) => (b.waitMsPerSecond ?? 0) - (a.waitMsPerSecond ?? 0) || compareTexts(nameOf(a), nameOf(b)))
    .slice(0, MAX_ROWS)
    .sort((a, b) => compareTexts(nameOf(a), nameOf(b)));
  const rows = shown.map((set) => {
    const percent = set.cpus.isEmpty ? undefined : set.usedMilliCpu / 10 / set.cpus.size;
    const bar =
      percent !== undefined &&
      html`<meter
        min="0"
        max="100"
        value="${Math.min(100, Math.round(percent))}"
        aria-label="${formatPercent(percent)} of its CPUs"
      ></meter>`;
    return html`<tr>
      ${drawName(set)}
      <td data-name="CPUs" class="list">${set.cpus.toString()}</td>
      <td data-name="Used">
        ${bar} ${formatCpuShare(set.usedMilliCpu)}${percent !== undefined && ` (${formatPercent(percent)})`}
      </td>
      <td data-name="Wait">
        ${set.waitMsPerSecond === undefined ? '-' : `${Number(set.waitMsPerSecond.toFixed(1))} ms/s`}
      </td>
      <td data-name="Throttled">${set.throttledPercent === undefined ? '-' : formatPercent(set.throttledPercent)}</td>
    </tr>`;
  });
  return drawTable({
    id: 'use-sets',
    title: 'Promised CPUs',
    help: 'Wait: time in each second in which threads were ready and had no CPU.',
    columns: ['Pod, container', 'CPUs', 'Used', 'Wait', 'Throttled'],
    rows,
    all: sets.length,
  });
}

function renderRules(rules: QosStatus['rules']): Fragment {
  const rows = rules.slice(0, MAX_ROWS).map(
    (rule) =>
      html`<tr>
        <th scope="row">${rule.rule}</th>
        <td data-name="State" class="${isTriggered(rule) ? 'warning' : 'ok'}">
          <span class="level">${rule.state}</span>
        </td>
        <td data-name="Action">${rule.action}</td>
        <td data-name="Why" class="why">${rule.because}</td>
      </tr>`,
  );
  const columns = ['Rule', 'State', 'Action', 'Why'];
  return drawTable({ id: 'use-rules', title: 'Rules', columns, rows, all: rules.length });
}

function renderThrottled(throttled: QosStatus['throttled']): Fragment {
  const rows = throttled.slice(0, MAX_ROWS).map(
    (container) =>
      html`<tr>
        ${drawName(container)}
        <td data-name="From">${formatQuota(container.originalQuotaUs, container.periodUs)}</td>
        <td data-name="To">${formatQuota(container.quotaUs, container.periodUs)}</td>
        <td data-name="Why" class="why">${container.because}</td>
        <td data-name="Since" class="time">${drawTime(container.since)}</td>
      </tr>`,
  );
  return drawTable({
    id: 'use-throttled',
    title: 'Throttled',
    columns: ['Pod, container', 'From', 'To', 'Why', 'Since'],
    rows,
    all: throttled.length,
  });
}

function renderActions({ mode, recent }: QosStatus): Fragment {
  const rows = recent.slice(0, MAX_ROWS).map(
    ({ at, action, subject, outcome, because }) =>
      html`<tr${outcome === 'failed' && html` class="bad"`}>
        <td class="time">${drawTime(at)}</td>
        <td data-name="Action"><span class="kind">${action}</span></td>
        <th scope="row">${subject}</th>
        <td data-name="Outcome">${outcome}</td>
        <td data-name="Why" class="why">${because}</td>
      </tr>`,
  );
  return drawTable({
    id: 'use-actions',
    title: 'Last actions',
    ...(mode === 'preview' && { help: 'As they would have been: preview changes nothing.' }),
    columns: ['Time', 'Action', 'Subject', 'Outcome', 'Why'],
    rows,
    all: recent.length,
  });
}

interface TableParts {
  readonly id: string;
  readonly title: string;
  readonly help?: string;
  readonly columns: readonly string[];
  readonly rows: readonly Html[];
  /** Number of rows that there would be without a limit. */
  readonly all: number;
}

function drawTable({ id, title, help = '', columns, rows, all }: TableParts): Fragment {
  const more = all > rows.length ? `${all - rows.length} more are left out.` : '';
  const text = [help, more].filter((each) => each !== '').join(' ');
  const drawn = html`<section id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${title}</h3>
    ${text !== '' && html`<p class="help">${text}</p>`}
    <table class="${id}" aria-labelledby="${id}-title">
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
  return { id, html: drawn };
}

function drawName({ namespace, pod, container }: Named): Html {
  return html`<th scope="row"><span class="ns">${namespace}/</span>${pod} <b>${container}</b></th>`;
}

type Named = Pick<PromisedSetStatus, 'namespace' | 'pod' | 'container'>;

function nameOf({ namespace, pod, container }: Named): string {
  return `${namespace}/${pod}/${container}`;
}
