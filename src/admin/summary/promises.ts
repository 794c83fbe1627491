import type { ContainerStatus, DriftTally, Refused, RefusalSummary } from '../model/status';
import { formatPercent, formatTime, plural } from '../../core/text';
import type { VerdictKind } from '../../core/verdict/judge';
import { MAX_NAMES, wasLately, type Level, type PartSummary } from './part-summary';

const LEVELS: Readonly<Record<VerdictKind, Level>> = {
  kept: 'ok',
  pending: 'ok',
  'held-under-old-rules': 'ok',
  'left-alone': 'ok',
  unknown: 'warning',
  drifted: 'warning',
  violated: 'error',
};
const ORDER: readonly Level[] = ['ok', 'warning', 'error'];

/** The extent of exclusivity, in one sentence. */
export const EXCLUSIVE_MEANS =
  "no other container runs there; processes of the host, threads of the kernel and interrupts still can: cpusetd audit shows them, systemd's CPUAffinity= and --irq-affinity steer keep them off";

/** The verdicts of containers that do not have what they were promised, the worst first. */
export const BROKEN = ['violated', 'drifted'] as const satisfies readonly VerdictKind[];

/** The level of a verdict. */
export function levelOf(kind: VerdictKind): Level {
  return LEVELS[kind] ?? 'warning';
}

export function summarizePromises(containers: readonly ContainerStatus[]): PartSummary {
  const promised = containers.filter(({ promise }) => promise);
  const sandboxes = promised.filter(({ pause }) => pause);
  const worst = Math.max(0, ...promised.map(({ verdict }) => ORDER.indexOf(levelOf(verdict.kind))));
  const text = [
    countKept(
      promised.filter(({ pause }) => !pause),
      'container',
    ),
    ...(sandboxes.length > 0 ? [countKept(sandboxes, 'pod sandbox', 'pod sandboxes')] : []),
  ].join('; ');
  const level = ORDER[worst]!;
  return {
    part: 'promises',
    level,
    text,
    ...(level !== 'ok' && { remedy: 'cpusetd status --drifted has the reasons' }),
  };
}

/** The drifts since cpusetd started, of the containers that are still there. */
export function summarizeDrifts(containers: readonly ContainerStatus[], nowMs: number): readonly PartSummary[] {
  const drifted = containers.flatMap(({ drift, namespace, pod, container }) =>
    drift ? [{ ...drift, name: `${namespace}/${pod} ${container}` }] : [],
  );
  if (drifted.length === 0) return [];
  const sum = (read: (tally: DriftTally) => number): number => drifted.reduce((total, tally) => total + read(tally), 0);
  const [drifts, repairs, failed] = [
    sum((tally) => tally.drifts),
    sum((tally) => tally.repairs),
    sum((tally) => tally.failedRepairs),
  ];
  const last = drifted.reduce((latest, tally) => (tally.lastAt > latest.lastAt ? tally : latest));
  const text = [
    `${plural(drifts, 'drift')} of ${plural(drifted.length, 'container')} since cpusetd started, the last ${formatTime(last.lastAt)} of ${last.name}`,
    `${plural(repairs, 'repair')} confirmed${failed > 0 ? `, ${failed} failed` : ''}`,
  ].join('; ');
  if (!wasLately(last.lastAt, nowMs)) return [{ part: 'drifts', level: 'ok', text }];
  return [{ part: 'drifts', level: 'warning', text, remedy: 'cpusetd events --kind drifted has the causes' }];
}

/** Others on more of an owner's CPU time than that are a warning, in per cent. */
const MUCH_FOREIGN_PERCENT = 5;

/** The container whose exclusive CPUs others used most. */
export function summarizeForeign(containers: readonly ContainerStatus[]): readonly PartSummary[] {
  const looked = containers.filter(({ foreign }) => foreign);
  if (looked.length === 0) return [];
  const worst = looked.reduce((most, container) =>
    container.foreign!.percent > most.foreign!.percent ? container : most,
  );
  const { percent, threads, most, at } = worst.foreign!;
  const place = `${worst.namespace}/${worst.pod} ${worst.container}`;
  const text =
    threads === 0
      ? `nobody else was seen on exclusive CPUs, ${formatTime(at)}`
      : `others used ${formatPercent(percent)} of the CPUs of ${place}, most of it ${most}; ${formatTime(at)}`;
  if (percent < MUCH_FOREIGN_PERCENT) return [{ part: 'audit', level: 'ok', text }];
  return [{ part: 'audit', level: 'warning', text, remedy: 'cpusetd audit names them, and how each is kept off' }];
}

/** The command with more is that of the latest. */
export function summarizeRefused({ containers, latest }: Refused): PartSummary {
  const names = latest.slice(0, MAX_NAMES).map(nameRefused);
  const more = containers > names.length ? [`${containers - names.length} more`] : [];
  const [first] = latest;
  return {
    part: 'refused',
    level: 'warning',
    text: `${plural(containers, 'container')}: ${[...names, ...more].join('; ')}`,
    ...(first && { remedy: `cpusetd explain ${first.namespace}/${first.pod}` }),
  };
}

const ASKED: Readonly<Record<RefusalSummary['asked'], string>> = {
  creation: '',
  start: 'its start ',
  change: 'a change of its resources ',
  unknown: '',
};

/** A refused container, in words: how often, the last time, and why. */
export function nameRefused({ namespace, pod, container, asked, times, lastAt, because }: RefusalSummary): string {
  const often = times === 1 ? '' : `${times} times, the last `;
  return `${namespace}/${pod} ${container} (${ASKED[asked]}${often}${formatTime(lastAt)}): ${because}`;
}

/** Such as `2 of 3 containers kept, 1 drifted`. */
function countKept(promised: readonly ContainerStatus[], noun: string, many?: string): string {
  const counts = new Map<VerdictKind, number>();
  for (const { verdict } of promised) counts.set(verdict.kind, (counts.get(verdict.kind) ?? 0) + 1);
  const others = [...counts].filter(([kind]) => kind !== 'kept').map(([kind, count]) => `${count} ${kind}`);
  return [`${counts.get('kept') ?? 0} of ${plural(promised.length, noun, many)} kept`, ...others].join(', ');
}
