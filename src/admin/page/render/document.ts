import type { PageContent } from './fragments';
import { EXCLUSIVE_MEANS } from '../../summary/promises';
import { drawDocument } from './frame';
import { drawHistoryForm, drawHistoryTable, JOURNAL_OFF } from './history';
import { html, type Html } from './html';

export interface DocumentParts {
  /** Absent when it is not known. */
  readonly nodeName: string | undefined;
  readonly content: PageContent;
  /** The name of the content, for the stream. */
  readonly version: string;
  /** Time between two signs of life of the stream, in ms. */
  readonly beatMs: number;
  /** The what-if box: what was typed, and the answer. */
  readonly asked: { readonly text: string; readonly answer: Html | undefined };
  readonly paths: { readonly script: string; readonly style: string };
  /** False: the journal is off. */
  readonly hasHistory: boolean;
}

/** The whole page. It can be read and used without its script, which only keeps it current and adds hints. */
export function renderDocument({
  nodeName,
  content,
  version,
  beatMs,
  asked,
  paths,
  hasHistory,
}: DocumentParts): string {
  const list = (id: string): readonly Html[] =>
    content.lists.find((each) => each.id === id)!.items.map(({ html: drawn }) => drawn);
  const head = html`<script src="${paths.script}" defer></script>`;
  const root = html`data-version="${version}" data-beat-ms="${beatMs}"`;
  const body = html`
    <a class="skip" href="#containers-title">Skip to the containers</a>
    <header>
      <h1>cpusetd</h1>
      <div id="head">${list('head')}</div>
      <p id="live">
        <span id="live-state" role="status">as of when this page was loaded</span><span id="live-age"></span>
      </p>
    </header>
    <main>
      <section aria-labelledby="node-title">
        <h2 id="node-title">Node</h2>
        <ul id="parts">
          ${list('parts')}
        </ul>
        <dl id="numbers">${list('numbers')}</dl>
      </section>
      <section aria-labelledby="map-title">
        <h2 id="map-title">CPUs</h2>
        <p id="map-help" class="help">
          Each square is a CPU; the CPUs of a core stand one above the other. The number before a row is that of its
          first CPU. A capital letter is a running owner, a small one an exited or planned one;
          <span class="sign">!</span> marks drifted and violated ones.
          <span class="script-only">Arrow keys move over the map; a click keeps a CPU shown.</span>
        </p>
        ${content.machine.draw(content.cells)}
        <div id="about" class="about script-only" role="group" aria-label="The chosen CPU">
          <div id="about-text" role="status">
            <p>Point at a CPU, or go to it with the keyboard, to see who has it and why.</p>
          </div>
          <a id="about-history" href="/history" hidden>history</a>
          <button id="release" type="button" hidden>Follow the pointer</button>
        </div>
        <h3 id="legend-title">Who has them</h3>
        <p id="exclusive-means" class="help">Exclusive: ${EXCLUSIVE_MEANS}.</p>
        <ul id="legend" aria-labelledby="legend-title">
          ${list('legend')}
        </ul>
      </section>
      <section aria-labelledby="fit-title">
        <h2 id="fit-title">Would it fit?</h2>
        <form id="fit" method="get" action="/">
          <label for="cpus">CPUs of a new container</label>
          <input
            id="cpus"
            name="cpus"
            type="number"
            inputmode="numeric"
            min="1"
            max="65535"
            required
            value="${asked.text}"
          />
          <button>Ask</button>
        </form>
        <div id="fit-answer" role="status">${asked.answer}</div>
        <p class="help">As <code>cpusetd explain --cpus</code>: nothing is given out.</p>
      </section>
      <section aria-labelledby="containers-title">
        <h2 id="containers-title" tabindex="-1">Containers</h2>
        <p class="help">
          The worst verdicts come first, and refused containers are among them. Pod sandboxes (pause containers) are
          left out.
        </p>
        <p class="filter script-only">
          <label for="filter">Show only</label>
          <input
            id="filter"
            type="search"
            placeholder="name, verdict or CPU: 17, 16-19"
            autocomplete="off"
            spellcheck="false"
          />
          <span id="filtered" role="status"></span>
          <a id="filter-cpu" href="#map" hidden></a>
        </p>
        <div class="scroll">
          <table class="containers" aria-labelledby="containers-title">
            <thead>
              <tr>
                <th scope="col">Pod, container</th>
                <th scope="col">Placement</th>
                <th scope="col">Promise</th>
                <th scope="col">Observed</th>
                <th scope="col">Verdict</th>
                <th scope="col">Why</th>
                <th scope="col">Since</th>
              </tr>
            </thead>
            <tbody id="containers">
              ${list('containers')}
            </tbody>
          </table>
        </div>
      </section>
      <div id="use">${list('use')}</div>
      <section aria-labelledby="history-title">
        <h2 id="history-title">History</h2>
        ${
          hasHistory
            ? html`<p class="help">
                  The last decisions and facts of the journal, the latest first. A search reads all of the journal, as
                  <code>cpusetd events</code> does.
                </p>
                ${drawHistoryForm()}`
            : html`<p class="help">${JOURNAL_OFF}</p>`
        }
        ${drawHistoryTable(list('history'))}
      </section>
    </main>
    <footer>
      <p>
        The same as data: <a href="/api/v1/status">status</a>, <a href="/api/v1/topology">topology</a>,
        <a href="/api/v1/history">history</a>. Nothing can be changed here.
      </p>
    </footer>
  `;
  return drawDocument({ nodeName, style: paths.style, head, root }, body).text;
}
