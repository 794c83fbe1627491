import type { FoundRecords } from '../../../state/journal';
import type { HistoryQuery } from '../history-query';
import { drawDocument, type DocumentFrame } from './frame';
import { describeFound, drawHistoryForm, drawHistoryTable, HistoryRows } from './history';
import { html, type Html } from './html';

/** Records, or the reason in a sentence why there are none. */
export type HistoryResult = FoundRecords | { readonly problem: string };

/** The page of a part of the history. It has no script: its times are those of the records. */
export function renderHistoryDocument(frame: DocumentFrame, query: HistoryQuery, result: HistoryResult): string {
  const { nodeName } = frame;
  const body = html`<header>
      <h1>cpusetd</h1>
      ${nodeName !== undefined && html`<p><b>${nodeName}</b></p>`}
      <p><a href="/">The node as it is</a></p>
    </header>
    <main>
      <section aria-labelledby="history-title">
        <h2 id="history-title">History</h2>
        ${drawHistoryForm(query)} ${drawResult(query, result)}
      </section>
    </main>`;
  return drawDocument({ ...frame, subject: 'History' }, body).text;
}

function drawResult({ faults }: HistoryQuery, result: HistoryResult): Html | undefined {
  if (faults.size > 0) return undefined;
  if ('problem' in result) return html`<p class="fault">${result.problem}</p>`;
  const rows = new HistoryRows().render(result.records).map(({ html: drawn }) => drawn);
  return html`<p class="help" id="history-found">${describeFound(result)}</p>
    ${rows.length > 0 && drawHistoryTable(rows)}`;
}
