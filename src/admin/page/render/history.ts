import { plural } from '../../../core/text';
import { cellsOf, type FoundRecords, type JournalRecord } from '../../../state/journal';
import { HISTORY_FIELDS, type HistoryField, type HistoryQuery } from '../history-query';
import type { Fragment } from './fragments';
import { html, type Html } from './html';
import { drawTime } from './time';

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

/** Said in place of the history. */
export const JOURNAL_OFF = 'The journal is off (--journal-size off).';

/** The table of the history with these rows. */
export function drawHistoryTable(rows: readonly Html[]): Html {
  return html`<div class="scroll">
    <table class="history" aria-labelledby="history-title">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Event</th>
          <th scope="col">Pod, container</th>
          <th scope="col">CPUs</th>
          <th scope="col">Why</th>
        </tr>
      </thead>
      <tbody id="history">
        ${rows}
      </tbody>
    </table>
  </div>`;
}

const FIELDS: Readonly<Record<HistoryField, readonly [label: string, example: string]>> = {
  pod: ['Pod', 'namespace/name'],
  cpu: ['CPUs', '17, 2-3'],
  since: ['Since', '10m, 24h, or a time'],
  until: ['Until', '2026-11-24T10:00:00Z'],
};

/** The form that asks for a part of the history; with a query, as that was typed. */
export function drawHistoryForm(query?: HistoryQuery): Html {
  const inputs = HISTORY_FIELDS.map((field) => {
    const [label, example] = FIELDS[field];
    const fault = query?.faults.get(field);
    const described = fault !== undefined && html` aria-invalid="true" aria-describedby="history-${field}-fault"`;
    return html`<p>
      <label for="history-${field}">${label}</label>
      <input
        id="history-${field}"
        name="${field}"
        value="${query?.typed[field] ?? ''}"
        placeholder="${example}"
        autocomplete="off"
        spellcheck="false"
        ${described}
      />
      ${fault !== undefined && html`<span id="history-${field}-fault" class="fault">${label}: ${fault}</span>`}
    </p>`;
  });
  return html`<form class="history-form" method="get" action="/history" aria-label="Filter of the history">
    ${inputs}<button>Search</button>
  </form>`;
}

/** The address of the history of a pod. */
export function historyOfPod({ namespace, pod }: { readonly namespace: string; readonly pod: string }): string {
  return `/history?pod=${encodeURIComponent(`${namespace}/${pod}`)}`;
}

/** The number of records that were found, and if there are others. */
export function describeFound({ records, more, isCutShort }: FoundRecords): string {
  const all = 'cpusetd events has all';
  if (more)
    return `The latest ${records.length} records, the latest first. There are older ones: ask for an earlier time, or ${all}.`;
  const count = records.length === 0 ? 'No such records' : `${plural(records.length, 'record')}, the latest first`;
  return isCutShort
    ? `${count}. The journal is too large to be read here as a whole, and older files were not: ${all}.`
    : `${count}.`;
}
