import type { Explanation } from '../../admin/model/explanation';
import { tryParseCpuList } from '../../core/cpuset';
import { describeLocation, type Topology } from '../../core/topology';
import { cellsOf, describeRecord, EVENT_COLUMNS, type JournalRecord } from '../../state/journal';
import { toneOfEvent } from '../events/event-tone';
import { formatTable, formatTime } from '../format/table';
import { PLAIN, type Terminal } from '../format/terminal';
import { formatFacts, listSteps } from './format-explanation';
import { listGone, type GoneContainer } from './history';

/** Most lines of history, and most containers that are gone; `cpusetd events --pod` has all. */
const MAX_LINES = 20;
const MAX_GONE = 5;

/** The containers of a pod that are gone, and what has happened to it, as text; empty without a history. */
export function formatHistory(
  explanation: Explanation,
  history: readonly JournalRecord[],
  topology: Topology,
  terminal: Terminal = PLAIN,
): string {
  if (history.length === 0) return '';
  const gone = listGone(explanation, history)
    .slice(-MAX_GONE)
    .map((gone) => formatGone(gone, topology, terminal));
  const latest = history.slice(-MAX_LINES);
  const count =
    latest.length < history.length ? `the latest ${latest.length} of ${history.length} events` : 'all events';
  // Pods of one name may have come one after another; the column of the pod tells them apart only with the uid.
  const uids = new Set(latest.map(({ podUid }) => podUid));
  const uid = EVENT_COLUMNS.length - 1; // the reasons stay last: they are broken into lines
  const headers: string[] = [...EVENT_COLUMNS];
  const rows = latest.map((record) => [...cellsOf(record)]);
  if (uids.size > 1) {
    headers.splice(uid, 0, 'POD UID');
    rows.forEach((row, i) => row.splice(uid, 0, latest[i]!.podUid ?? ''));
  }
  return [
    ...gone,
    `History: ${count} of the journal.\n${formatTable(headers, rows, { terminal, toneOf: toneOfEvent })}`,
  ].join('\n');
}

function formatGone({ placed, steps, last }: GoneContainer, topology: Topology, terminal: Terminal): string {
  const { pod = '', container = '', cpus = '', at, because = '', podUid = '' } = placed;
  const had = placed.kind === 'refused' ? 'was refused, and is not here now' : `is not here now, it had ${cpus}`;
  return formatFacts(
    `${pod} ${container}: ${had}`,
    [
      ['because', because],
      ['where', placed.kind === 'refused' ? '' : describeCpus(cpus, topology)],
      ...listSteps(steps),
      ['since', formatTime(at)],
      ['last', last ? `${formatTime(last.at)} ${last.kind}: ${describeRecord(last)}` : ''],
      ['uid', podUid],
    ],
    terminal,
  );
}

/** Empty for what is no list of CPUs: a journal may come from another version. */
function describeCpus(cpus: string, topology: Topology): string {
  const set = tryParseCpuList(cpus);
  return set ? describeLocation(topology, set) : '';
}
