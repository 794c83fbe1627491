import { isJsonObject } from '../../core/json-object';
import { formatTime, plural } from '../../core/text';
import type { JournalRecord } from './record';

export const EVENT_COLUMNS = ['TIME', 'KIND', 'POD', 'CONTAINER', 'CPUS', 'BECAUSE'] as const;

/** The cells of a record, in the order of the columns. */
export function cellsOf(record: JournalRecord): readonly string[] {
  const { at, kind, pod = '', container = '', cpus = textOf(record['promised']) } = record;
  return [formatTime(at), kind, pod, container, cpus, describeRecord(record)];
}

/** The content of a record beside its time, its pod and its CPUs, for people. */
export function describeRecord(record: JournalRecord): string {
  const { kind, because = '' } = record;
  const text = (name: string): string => textOf(record[name]);
  switch (kind) {
    case 'moved':
      return join([
        record['containers'] === undefined ? '' : plural(Number(record['containers']), 'container'),
        text('from') && `from ${text('from')}`,
        because,
        text('causedBy') && `for ${text('causedBy')}`,
      ]);
    case 'gap': {
      const count = Number(record['containers'] ?? 0);
      const since = `not registered with the runtime since ${formatTime(text('from'))}`;
      const names = text('names') && ` (${text('names')})`;
      return count === 0
        ? `${since}; no container started meanwhile`
        : `${since}: ${plural(count, 'container')} started without cpusetd${names}`;
    }
    case 'online-cpus-changed':
      return join([
        `online ${text('online')}`,
        text('left') && `left ${text('left')}`,
        text('returned') && `returned ${text('returned')}`,
      ]);
    case 'cpu-bound-changed':
      return join([
        `usable ${text('usable')}`,
        text('left') && `left ${text('left')}`,
        text('returned') && `returned ${text('returned')}`,
        because,
      ]);
    case 'alarm':
    case 'alarm-over':
      return `${text('alarm')}: ${because}`;
    case 'settings':
      return `cpusetd ${text('version')} started${policyOf(record)}`;
    case 'settings-changed':
      return changesOf(record);
    case 'left-out':
      return join([
        record['records'] === undefined ? '' : plural(Number(record['records']), 'record'),
        record['events'] === undefined ? '' : plural(Number(record['events']), 'event'),
        text('namespace') && `namespace ${text('namespace')}`,
        because,
      ]);
    case 'annotation-ignored':
      return `${text('annotation')}: ${because}`;
    case 'refused':
      return Number(record['times'] ?? 1) > 1 ? `${because} (${text('times')} times)` : because;
    default:
      return because;
  }
}

function policyOf({ options }: JournalRecord): string {
  const policy = isJsonObject(options) ? options : {};
  const name = policy['cpu-manager-policy'];
  return typeof name === 'string' ? `, policy ${name}` : '';
}

function changesOf({ changes }: JournalRecord): string {
  const each: readonly unknown[] = Array.isArray(changes) ? changes : [];
  return join(
    each.map((change) => {
      const { option, from, to } = (change ?? {}) as Readonly<Record<string, unknown>>;
      return textOf(option) && `${textOf(option)}: ${textOf(from) || 'not set'} to ${textOf(to) || 'not set'}`;
    }),
  );
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? value.map(textOf).join(', ') : '';
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('; ');
}
