// Runs in the browser: draws panels as Grafana lays them out. Lines are drawn by uPlot, with which Grafana draws them.
import uPlot from 'uplot';
import type { DrawnPanel, DrawnSeries } from '../drawn-panel';
import { formatValue } from '../format-value';

type Panel<Type extends DrawnPanel['type']> = Extract<DrawnPanel, { type: Type }>;

const COLUMN_PX = 60;
const ROW_PX = 38;
const GAP_PX = 8;
const LEGEND_LINE_PX = 22;
/** Grafana's classic palette, and its colours by name on the dark theme. */
const PALETTE = '#7EB26D #EAB839 #6ED0E0 #EF843C #E24D42 #1F78C1 #BA43A9 #705DA0 #508642 #CCA300 #447EBC #C15C17'.split(
  ' ',
);
const NAMED: Readonly<Record<string, string>> = {
  green: '#73BF69',
  red: '#F2495C',
  orange: '#FF9830',
  text: '#ccccdc',
};

const colourNamed = (name: string): string => NAMED[name] ?? name;
const colourOf = (index: number): string => PALETTE[index % PALETTE.length]!;

/** Draws all panels into the page. */
function drawPanels(panels: readonly DrawnPanel[]): void {
  document.body.replaceChildren(...panels.map(place));
  const last = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  document.body.style.height = `${last * ROW_PX}px`;
  // Lines need the size of their place.
  for (const panel of panels) {
    const body = document.querySelector<HTMLElement>(`[data-title=${JSON.stringify(panel.title)}] .body`);
    if (body) fill(body, panel);
  }
}

function place(panel: DrawnPanel): HTMLElement {
  const { x, y, w, h } = panel.gridPos;
  const element = make('section', panel.type);
  element.dataset['title'] = panel.title;
  const size = { left: x * COLUMN_PX, top: y * ROW_PX, width: w * COLUMN_PX - GAP_PX, height: h * ROW_PX - GAP_PX };
  for (const [name, px] of Object.entries(size)) element.style.setProperty(name, `${px}px`);
  element.append(make('h2', '', panel.title));
  if (panel.type !== 'row') element.append(make('div', 'body'));
  return element;
}

function fill(body: HTMLElement, panel: DrawnPanel): void {
  const size = { width: body.clientWidth, height: body.clientHeight };
  if (panel.type === 'stat') {
    const number = make('div', 'number', panel.value.text);
    number.style.color = colourNamed(panel.value.color);
    body.append(number);
  } else if (panel.type === 'table') body.append(panel.rows.length === 0 ? noData() : table(panel));
  else if (panel.type === 'heatmap') body.append(panel.buckets.length === 0 ? noData() : heatmap(panel, size));
  else if (panel.type === 'state-timeline') {
    if (panel.rows.length === 0) return body.append(noData());
    const below =
      panel.legend === 'none' ? undefined : legend(panel.states.map(({ text, color }) => [text, colourNamed(color)]));
    body.append(timeline(panel, { height: size.height - LEGEND_LINE_PX }), ...(below ? [below] : []));
  } else if (panel.type === 'timeseries') {
    if (panel.series.length === 0) return body.append(noData());
    if (panel.legend === 'right') {
      const beside = legendTable(panel.series);
      body.append(beside);
      lines(body, panel, { ...size, width: size.width - beside.offsetWidth });
    } else {
      const below = legend(panel.series.map(({ name }, i) => [name, colourOf(i)]));
      // At most 35 % of the panel, as in Grafana; the rest is reached by scrolling.
      below.style.maxHeight = `${size.height * 0.35}px`;
      body.append(below);
      if (panel.legend === 'none') below.remove();
      lines(body, panel, { ...size, height: size.height - below.offsetHeight });
      if (panel.legend === 'bottom') body.append(below);
    }
  }
}

function lines(body: HTMLElement, panel: Panel<'timeseries'>, size: { width: number; height: number }): void {
  const { times, span, isStacked, fillOpacity, min, unit } = panel;
  const values = isStacked ? stack(panel.series) : panel.series.map((each) => each.values);
  const alpha = Math.round(fillOpacity * 2.55)
    .toString(16)
    .padStart(2, '0');
  new uPlot(
    {
      ...size,
      legend: { show: false },
      cursor: { show: false },
      series: [
        {},
        ...panel.series.map(({ name }, i) => ({
          label: name,
          stroke: colourOf(i),
          width: 1.5,
          fill: `${colourOf(i)}${alpha}`,
        })),
      ],
      ...(isStacked && {
        bands: panel.series.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] })),
      }),
      scales: { x: { range: [span.from, span.to] }, y: { range: (_, low, high) => rangeOf(min ?? low, high) } },
      axes: [axis(), { ...axis(), size: 70, values: (_, ticks) => ticks.map((tick) => formatValue(tick, unit)) }],
    },
    [times, ...values] as uPlot.AlignedData,
    body,
  );
}

const axis = () => ({ stroke: '#ccccdc', grid: { stroke: '#2c3235', width: 1 }, ticks: { show: false } });

const rangeOf = (low: number, high: number): [number, number] => [low, high > low ? low + (high - low) * 1.1 : low + 1];

/** Each series on those before it. */
function stack(series: readonly DrawnSeries[]): readonly (readonly (number | null)[])[] {
  const below: number[] = [];
  return series.map(({ values }) =>
    values.map((value, i) => (value === null ? null : (below[i] = (below[i] ?? 0) + value))),
  );
}

function legend(entries: readonly (readonly [name: string, colour: string])[]): HTMLElement {
  const list = make('ul', 'legend');
  for (const [name, colour] of entries) {
    const item = make('li', '');
    const mark = make('i', '');
    mark.style.background = colour;
    item.append(mark, make('span', '', name));
    list.append(item);
  }
  return list;
}

/** Beside the lines: each name with the largest value, the largest first. */
function legendTable(series: readonly DrawnSeries[]): HTMLElement {
  const most = series.map(({ name, values }, i) => ({
    name,
    colour: colourOf(i),
    most: Math.max(...values.map((value) => value ?? 0)),
  }));
  const list = legend(
    most
      .sort((a, b) => b.most - a.most)
      .map(({ name, colour, most: value }) => [`${name}: ${formatValue(value, 'short')}`, colour]),
  );
  list.classList.add('beside');
  return list;
}

/** A bar for each name; a time without a state is left empty. */
function timeline({ rows }: Panel<'state-timeline'>, { height }: { height: number }): HTMLElement {
  const chart = make('div', 'timeline');
  chart.style.height = `${height}px`;
  for (const { name, values } of rows) {
    const bar = make('div', 'bar');
    for (const [i, value] of values.entries()) {
      if (value === null) continue;
      const part = make('b', '', value.text === values[i - 1]?.text ? '' : value.text);
      part.style.left = `${(100 * i) / values.length}%`;
      part.style.width = `${100 / values.length + 0.1}%`;
      part.style.background = colourNamed(value.color);
      bar.append(part);
    }
    const row = make('div', 'row-of-bar');
    row.append(make('span', 'name', name), bar);
    chart.append(row);
  }
  return chart;
}

function heatmap(panel: Panel<'heatmap'>, { width, height }: { width: number; height: number }): HTMLElement {
  const { buckets, times, colours, unit } = panel;
  const [left, bottom] = [70, 24];
  const canvas = make('canvas', '') as HTMLCanvasElement;
  Object.assign(canvas, { width, height });
  const paper = canvas.getContext('2d')!;
  const most = Math.max(...buckets.flatMap(({ counts }) => counts.map((count) => count ?? 0)));
  const cell = { width: (width - left) / times.length, height: (height - bottom) / buckets.length };
  paper.font = '11px sans-serif';
  buckets.forEach(({ bound, counts }, row) => {
    const y = height - bottom - (row + 1) * cell.height;
    counts.forEach((count, i) => {
      // Grafana leaves out what is almost 0, and takes a colour of the scheme for the rest.
      if (count === null || count < 1e-9 || colours < 1) return;
      const shade = Math.round(((colours - 1) * count) / most) / Math.max(1, colours - 1);
      paper.fillStyle = `hsl(30 100% ${25 + 50 * shade}%)`;
      paper.fillRect(left + i * cell.width, y, Math.max(1, cell.width - 1), Math.max(1, cell.height - 1));
    });
    if (row % 2 > 0) return;
    paper.fillStyle = '#ccccdc';
    paper.fillText(bound === '+Inf' ? bound : formatValue(Number(bound), unit), 4, y + 8);
  });
  return canvas;
}

function table({ columns, rows }: Panel<'table'>): HTMLElement {
  const element = make('table', '');
  const line = (cells: readonly HTMLElement[]) => {
    const row = make('tr', '');
    row.append(...cells);
    return row;
  };
  element.append(line(columns.map((name) => make('th', '', name))));
  for (const cells of rows)
    element.append(
      line(
        cells.map(({ text, href }) => {
          const cell = make('td', '', href === undefined ? text : '');
          if (href !== undefined) cell.append(Object.assign(make('a', '', text), { href }));
          return cell;
        }),
      ),
    );
  return element;
}

const noData = () => make('div', 'no-data', 'No data');

function make(tag: string, className: string, text = ''): HTMLElement {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

Object.assign(globalThis, { drawPanels });
export type DrawPanels = typeof drawPanels;
