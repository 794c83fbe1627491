import { join } from 'node:path';
import type { Alarm } from '../../admin/model/alarm';
import type { Gap } from '../../admin/model/status';
import { InputRecorder, JournalWriter, type JournalLimits, type NewRecord } from '../../state/journal';
import type { DaemonContext } from '../context';
import type { OnClose } from '../lifecycle/closers';
import type { Transaction } from '../transaction/transaction';
import { NamespaceBudget, type Taken } from './namespace-budget';
import { nameOf, recordAlarms, recordsOf, type RefusalEntry } from './records';

export interface JournalParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'events' | 'faults' | 'log' | 'now' | 'signal'>;
  readonly version: string;
  /** For the record of the start: options in force and the machine. */
  readonly settings: () => object;
  readonly refusalOf: (done: Transaction) => RefusalEntry;
  readonly gap: () => Gap | undefined;
  readonly onClose: OnClose;
  /** Maximum time that the end waits for the disk, in ms. */
  readonly closeMs?: number;
}

const FREE: Taken = { ok: true, missed: 0 };
const TOO_MANY = 'the namespace has more events than a namespace may have: some are left out';

/**
 * Writes what happens into the journal from now on, unless it is off. Records are made after the answers of their
 * transactions, and written in the background. Register the history of refusals before it.
 */
export function openJournal(parts: JournalParts): void {
  const { context, version, settings, refusalOf, gap, onClose, closeMs } = parts;
  const { config, model, alarms, events, faults, log, now, signal } = context;
  const dir = join(config.stateDir, 'journal');
  const open = (limits: JournalLimits, afterGap: boolean): JournalWriter =>
    new JournalWriter({
      dir,
      version,
      limits,
      afterGap,
      preamble: (ahead, isAfterGap) => inputs.list(ahead, isAfterGap),
      ...(closeMs !== undefined && { closeMs }),
      onProblem: (error) => log.warn({ path: dir, err: error }, 'the journal is not written'),
    });
  /** Undefined while the journal is off. */
  let writer: JournalWriter | undefined;
  const budget = new NamespaceBudget();
  const inputs = new InputRecorder(model, settings);
  /** Writes the records that an event of a namespace causes, unless that had too many. */
  const addFor = (namespace: string | undefined, make: () => readonly NewRecord[]): void => {
    const leftOut = { kind: 'left-out', namespace, because: TOO_MANY } as const;
    const taken = namespace === undefined ? FREE : budget.take(namespace, performance.now());
    if (taken.ok && taken.missed > 0) writer?.add({ ...leftOut, events: taken.missed });
    if (!taken.ok) {
      if (taken.isFirst) writer?.add(leftOut);
      return;
    }
    const records = make();
    // All have one time: the node at any time has all of a transaction, or nothing.
    const at = now();
    for (const record of records) writer?.add({ at, ...record });
    if (records.length === 0 && namespace !== undefined) budget.giveBack(namespace);
  };

  const begin = (limits: JournalLimits, { afterGap }: { readonly afterGap: boolean }): void => {
    writer = open(limits, afterGap);
    if (afterGap) writer.add({ kind: 'left-out', because: 'the journal was off' });
    writer.add({ kind: 'settings', version, ...settings() });
    // After a gap the node as it is follows from the beginning of the file.
    for (const record of afterGap ? [inputs.rules()] : inputs.start()) writer.add(record);
  };
  let wanted: JournalLimits | undefined =
    config.journalBytes === undefined ? undefined : { maxBytes: config.journalBytes, maxAgeMs: config.journalAgeMs };
  if (wanted) begin(wanted, { afterGap: false });
  /** Two writers never have the directory at once. */
  let closing = Promise.resolve();
  onClose(async () => {
    writer?.add({ kind: 'stopped', because: String(signal.reason) });
    await Promise.all([closing, writer?.close()]);
  });
  events.on('optionsChanged', 'following the options of the journal', ({ journalBytes, journalAgeMs }) => {
    wanted = journalBytes === undefined ? undefined : { maxBytes: journalBytes, maxAgeMs: journalAgeMs };
    if (wanted && writer) {
      writer.setLimits(wanted);
      return;
    }
    const last = writer;
    writer = undefined;
    const goOn = (): void => {
      if (!wanted || writer || signal.aborted) return;
      begin(wanted, { afterGap: true });
    };
    closing = closing.then(() => last?.close()).then(goOn);
  });
  const writing = 'writing the journal';
  events.on('committed', writing, (done) => {
    if (writer) addFor(namespaceOf(done), () => [...inputs.of(done), ...recordsOf(model, done, refusalOf(done))]);
  });
  // These are recorded before the transactions of their turn are: a repair would come before its drift.
  const addLater = (record: NewRecord): void =>
    void setImmediate(() => faults.contain(writing, () => writer?.add(record)));
  events.on('repaired', writing, ({ containerId, outcome }) => {
    const cpus = model.allContainers.get(containerId)?.promise?.cpus;
    const kind = outcome === 'ok' ? 'repaired' : 'repair-failed';
    addLater({ kind, ...(nameOf(model, containerId) ?? { containerId }), cpus });
  });
  events.on('gapEnded', writing, ({ seconds }) => addLater({ kind: 'gap', ...gap(), seconds }));
  let known: readonly Alarm[] = [];
  events.on('alarmsChanged', writing, () => {
    const listed = alarms.list();
    for (const record of recordAlarms(known, listed)) addLater(record);
    known = listed;
  });
}

/** The namespace whose pod caused a transaction; undefined for what the node does by itself. */
function namespaceOf({ request }: Transaction): string | undefined {
  if (!request) return undefined;
  if ('pod' in request) return request.pod.namespace;
  return request.kind === 'pod-spec' ? request.spec.namespace : undefined;
}
