import { isIntruder, type Counted, type OwnerAudit } from '../../core/audit/judge-audit';
import type { TaskKind } from '../../core/audit/sample';
import { showText } from '../../core/show-text';
import { plural } from '../../core/text';
import { formatTable } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';
import { wrap } from '../format/width';

export interface AuditTextOptions {
  readonly seconds: number;
  /** Those too that only may run there, and threads that nobody can move. */
  readonly all: boolean;
  readonly terminal?: Terminal;
}

/** The audit as text: a block for each owner. */
export function formatAudit(
  audits: readonly OwnerAudit[],
  { seconds, all, terminal = PLAIN }: AuditTextOptions,
): string {
  if (audits.length === 0) return 'No container had CPUs for itself all the time.\n';
  return audits.map((audit) => formatOwner(audit, { seconds, all, terminal })).join('\n');
}

/** The means to keep a thread off a CPU; docs/commands.md has them in full. */
const REMARKS: Readonly<Record<TaskKind, string>> = {
  process: '',
  kernel: 'has an affinity that can be set',
  workqueue: 'follows the mask of workqueues',
  irq: 'follows its interrupt',
  bound: 'of this CPU, stays',
};

/** The number of softirqs and interrupts of the kernel that are named. */
const NAMED = 6;

function formatOwner(
  { owner, foreign, irqs, softirqs, kernelInterrupts, stolen }: OwnerAudit,
  { seconds, all, terminal = PLAIN }: AuditTextOptions,
): string {
  const list = (counted: readonly Counted[]): string =>
    counted
      .slice(0, NAMED)
      .map(({ name, count }) => `${name} ${count}`)
      .join(', ');
  const facts = [
    `its threads ran ${ms(stolen.ranMs)} in ${seconds} s, waited ${ms(stolen.waitedMs)} for a CPU, and made room ${plural(stolen.preemptions, 'time')}` +
      (stolen.stealMs > 0 ? `; the hypervisor took ${ms(stolen.stealMs)}` : ''),
    ...(softirqs.length > 0 ? [`softirqs on its CPUs: ${list(softirqs)}`] : []),
    ...(all && kernelInterrupts.length > 0 ? [`interrupts of the kernel: ${list(kernelInterrupts)}`] : []),
  ];
  const rows = [
    ...foreign
      .filter((task) => all || isIntruder(task))
      .map((task) => [
        task.kind === 'process' ? 'process' : 'kernel thread',
        `${task.name} (${task.pid})${task.threads > 1 ? `, ${plural(task.threads, 'thread')}` : ''}`,
        task.cpus.toString(),
        task.ran ? `ran ${ms(task.ranMs)}` : 'may run',
        REMARKS[task.kind],
      ]),
    ...irqs
      .filter(({ count }) => all || count > 0)
      .map(({ irq, source, cpus, count, isEffective, isFixed }) => [
        'interrupt',
        `${irq} ${source}`.trim(),
        cpus.toString(),
        count > 0 ? plural(count, 'time') : isEffective ? 'may come' : 'may be sent',
        isFixed ? 'the kernel refuses to move it' : '',
      ]),
  ];
  const toneOf = (cell: string, title: string): Tone | undefined =>
    title === 'SEEN' && /^(ran|\d)/.test(cell) ? 'bad' : undefined;
  const head = showText(`${owner.pod} ${owner.containers.join(', ')}: ${owner.cpus.toString()}`);
  const lines = facts.flatMap((fact) =>
    terminal.width === undefined ? [fact] : wrap(fact, Math.max(20, terminal.width - INDENT.length)),
  );
  const table =
    rows.length === 0
      ? `${INDENT}nobody else was seen on its CPUs\n`
      : formatTable(['WHAT', 'WHO', 'CPUS', 'SEEN', 'REMARK'], rows, { terminal, toneOf });
  return `${terminal.paint(head, 'strong')}\n${lines.map((line) => `${INDENT}${line}\n`).join('')}${table}`;
}

const INDENT = '  ';

/** Time of a fraction of a millisecond too: a thread of the kernel may run for microseconds. */
function ms(value: number): string {
  return value > 0 && value < 10 ? `${value < 0.1 ? '<0.1' : value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}
