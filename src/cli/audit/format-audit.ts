import type { ForeignIrq, ForeignTask, OwnerAudit } from '../../core/audit/judge-audit';
import { plural } from '../../core/text';
import { formatTable } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';

export interface AuditTextOptions {
  readonly seconds: number;
  /** Those too that only may run there, and threads that nobody can move. */
  readonly all: boolean;
  readonly terminal?: Terminal;
}

/** A foreign thread or interrupt that was on CPUs of an owner, and that somebody could keep off them. */
export function isIntruder(of: ForeignTask | ForeignIrq): boolean {
  return 'irq' in of ? of.count > 0 : of.ran && of.kind !== 'bound';
}

/** The audit as text: a block for each owner. */
export function formatAudit(
  audits: readonly OwnerAudit[],
  { seconds, all, terminal = PLAIN }: AuditTextOptions,
): string {
  if (audits.length === 0) return 'No container has CPUs for itself.\n';
  return audits.map((audit) => formatOwner(audit, { seconds, all, terminal })).join('\n');
}

function formatOwner(
  { owner, foreign, irqs, softirqs, stolen }: OwnerAudit,
  { seconds, all, terminal = PLAIN }: AuditTextOptions,
): string {
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const facts = [
    `${owner.pod} ${owner.containers.join(', ')}: ${owner.cpus.toString()}`,
    `  its threads ran ${ms(stolen.ranMs)} in ${seconds} s, waited ${ms(stolen.waitedMs)} for a CPU, and made room ${plural(stolen.preemptions, 'time')}` +
      (stolen.stealMs > 0 ? `; the hypervisor took ${ms(stolen.stealMs)}` : ''),
    ...(softirqs.length > 0
      ? [
          `  softirqs on its CPUs: ${softirqs
            .slice(0, 6)
            .map(({ name, count }) => `${name} ${count}`)
            .join(', ')}`,
        ]
      : []),
  ];
  const rows = [
    ...foreign
      .filter((task) => all || isIntruder(task))
      .map((task) => [
        task.kind === 'process' ? 'process' : 'kernel thread',
        `${task.name} (${task.pid})${task.threads > 1 ? `, ${plural(task.threads, 'thread')}` : ''}`,
        task.cpus.toString(),
        task.ran ? `ran ${ms(task.ranMs)}` : 'may run',
        task.kind === 'bound' ? 'of this CPU, stays' : '',
      ]),
    ...irqs
      .filter((irq) => all || isIntruder(irq))
      .map(({ irq, source, cpus, count, isEffective }) => [
        'interrupt',
        `${irq} ${source}`.trim(),
        cpus.toString(),
        count > 0 ? plural(count, 'time') : isEffective ? 'may come' : 'may be sent',
        '',
      ]),
  ];
  const toneOf = (cell: string, title: string): Tone | undefined =>
    title === 'SEEN' && /^(ran|\d)/.test(cell) ? 'bad' : undefined;
  const table =
    rows.length === 0
      ? '  nobody else was seen on its CPUs\n'
      : formatTable(['WHAT', 'WHO', 'CPUS', 'SEEN', 'REMARK'], rows, { terminal, toneOf });
  return `${facts.join('\n')}\n${table}`;
}
