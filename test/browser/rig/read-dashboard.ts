import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../docs/markdown';
import { type Unit, unitOf, withRateInterval } from '../../monitoring/units';
import type { DrawnPanel, DrawnSeries, DrawnValue, GridPos, LegendPlace, Span, UnitId } from './drawn-panel';
import { formatValue } from './format-value';

// The rules by which Grafana turns a dashboard and the answers of Prometheus into panels, as far as the dashboards of
// deploy/grafana use them.

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
  readonly instant?: boolean;
}

interface Threshold {
  readonly value: number | null;
  readonly color: string;
}

interface Panel {
  readonly type: DrawnPanel['type'];
  readonly title: string;
  readonly gridPos: GridPos;
  readonly targets: readonly Target[];
  readonly options: {
    readonly legend?: { readonly showLegend: boolean; readonly placement: LegendPlace };
    readonly yAxis?: { readonly unit?: UnitId };
    readonly color?: { readonly steps?: number };
  };
  readonly fieldConfig: {
    readonly defaults: {
      readonly unit: UnitId;
      readonly min?: number;
      readonly thresholds?: { readonly steps: readonly Threshold[] };
      readonly mappings?: readonly { readonly options: Readonly<Record<string, { text?: string; color?: string }>> }[];
      readonly custom?: { readonly stacking?: { readonly mode: string }; readonly fillOpacity?: number };
    };
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: readonly { readonly url: string }[] }[];
    }[];
  };
  readonly transformations?: readonly {
    readonly id: string;
    readonly options: {
      readonly excludeByName: Readonly<Record<string, boolean>>;
      readonly indexByName: Readonly<Record<string, number>>;
      readonly renameByName: Readonly<Record<string, string>>;
    };
  }[];
}

interface Dashboard {
  readonly uid: string;
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string; readonly includeAll?: boolean }[];
  };
  readonly panels: readonly Panel[];
}

/** A result of a query over time or of one time, as Prometheus answers it. */
interface Result {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [time: number, value: string])[];
  readonly value?: readonly [time: number, value: string];
}

/** Scraped each second, Grafana makes so many seconds of `$__rate_interval`. */
const RATE_SECONDS = 4;

/** A dashboard of deploy/grafana, filled with the answers of this Prometheus. */
export class DashboardReader {
  private readonly dashboard: Dashboard;

  /** `url`: of Prometheus. */
  constructor(
    file: string,
    private readonly url: string,
  ) {
    this.dashboard = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana', file), 'utf8')) as Dashboard;
  }

  get uid(): string {
    return this.dashboard.uid;
  }

  /** The unit of all values of a panel, by its queries. */
  quantityOf(title: string): Unit {
    const { targets } = this.dashboard.panels.find((panel) => panel.title === title)!;
    return unitOf(withRateInterval(targets[0]!.expr, RATE_SECONDS));
  }

  /** The values that Grafana offers for a variable. */
  async offers(name: string): Promise<readonly string[]> {
    const { definition = '' } = this.dashboard.templating.list.find((each) => each.name === name)!;
    const [, metric = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition)!;
    const match = encodeURIComponent(metric.replaceAll('$cluster', '.*'));
    return (await this.ask(`label/${label}/values?match[]=${match}`)) as readonly string[];
  }

  /** Answers each query of each panel. `variables`: what the reader has chosen. */
  draw(variables: Readonly<Record<string, string>>, span: Span): Promise<readonly DrawnPanel[]> {
    return Promise.all(this.dashboard.panels.map((panel) => this.drawPanel(panel, variables, span)));
  }

  private async drawPanel(panel: Panel, variables: Readonly<Record<string, string>>, span: Span): Promise<DrawnPanel> {
    const { type, title, gridPos, options } = panel;
    const head = { title, gridPos };
    if (type === 'row') return { ...head, type };
    const answers = await Promise.all(
      panel.targets.map(async (target) => ({ target, results: await this.query(target, variables, span) })),
    );
    const results = answers.flatMap((answer) => answer.results);
    const { defaults } = panel.fieldConfig;
    const legend = options.legend?.showLegend === true ? options.legend.placement : 'none';
    if (type === 'stat') return { ...head, type, value: showTile(panel, results) };
    if (type === 'table') return { ...head, type, ...makeTable(panel, results, variables) };
    const times = [...new Set(results.flatMap(({ values = [] }) => values.map(([time]) => time)))].sort(
      (a, b) => a - b,
    );
    const series = answers.flatMap(({ target, results: own }) =>
      own.map((result) => ({ name: nameOf(target, result), values: alignTo(times, result) })),
    );
    if (type === 'heatmap')
      return {
        ...head,
        type,
        unit: options.yAxis?.unit ?? 'short',
        colours: options.color?.steps ?? 64,
        times,
        buckets: separateBuckets(series),
      };
    if (type === 'state-timeline')
      return {
        ...head,
        type,
        legend,
        times,
        states: Object.keys(defaults.mappings?.[0]?.options ?? {}).map((key) => show(panel, Number(key))),
        rows: series.map(({ name, values }) => ({
          name,
          values: values.map((value) => (value === null ? null : show(panel, value))),
        })),
      };
    const { stacking, fillOpacity = 0 } = defaults.custom ?? {};
    return {
      ...head,
      type,
      unit: defaults.unit,
      min: defaults.min,
      isStacked: stacking?.mode === 'normal',
      fillOpacity,
      span,
      legend,
      times,
      series,
    };
  }

  private async query(
    { expr, instant = false }: Target,
    variables: Readonly<Record<string, string>>,
    { from, to }: Span,
  ): Promise<readonly Result[]> {
    const filled = withRateInterval(expr, RATE_SECONDS).replaceAll(
      /\$(\w+)/g,
      (name, word: string) => variables[word] ?? name,
    );
    const query = `query=${encodeURIComponent(filled)}`;
    const path = instant ? `query?${query}&time=${to}` : `query_range?${query}&start=${from}&end=${to}&step=1`;
    return ((await this.ask(path)) as { readonly result: readonly Result[] }).result;
  }

  private async ask(path: string): Promise<unknown> {
    const answer = (await (await fetch(`${this.url}/api/v1/${path}`)).json()) as {
      status: string;
      error?: string;
      data: unknown;
    };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }
}

function nameOf({ legendFormat }: Target, { metric }: Result): string {
  return legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? '');
}

/** As in Grafana, what is no number is drawn as nothing. */
function alignTo(times: readonly number[], { values = [] }: Result): readonly (number | null)[] {
  const known = new Map(values.map(([time, value]) => [time, Number(value)]));
  return times.map((time) => {
    const value = known.get(time);
    return value !== undefined && Number.isFinite(value) ? value : null;
  });
}

/**
 * The value as the panel shows it: by its mappings, its unit, and the last threshold that is not above it. Without a
 * value the first threshold counts.
 */
function show({ fieldConfig: { defaults } }: Panel, value: number | undefined): DrawnValue {
  const mapped = value === undefined ? undefined : defaults.mappings?.[0]?.options[String(value)];
  const steps = defaults.thresholds?.steps ?? [];
  const reached = steps.filter((step) => step.value === null || (value !== undefined && step.value <= value));
  const text = value === undefined ? 'No data' : (mapped?.text ?? formatValue(value, defaults.unit));
  return { text, color: mapped?.color ?? reached.at(-1)?.color ?? 'green' };
}

function showTile(panel: Panel, results: readonly Result[]): DrawnValue {
  if (results.length > 1) throw new Error(`${panel.title}: one number, but ${results.length} values`);
  return show(panel, results[0] && Number(results[0].value?.[1] ?? results[0].values!.at(-1)![1]));
}

function makeTable(
  { transformations = [], fieldConfig }: Panel,
  results: readonly Result[],
  variables: Readonly<Record<string, string>>,
) {
  const { excludeByName, indexByName, renameByName } = transformations.find(({ id }) => id === 'organize')!.options;
  const all = [...new Set(results.flatMap(({ metric }) => Object.keys(metric)))].sort();
  const fields = ['Time', ...all, 'Value']
    .filter((name) => !excludeByName[name])
    .sort((a, b) => (indexByName[a] ?? Infinity) - (indexByName[b] ?? Infinity));
  const linkOf = (field: string) =>
    fieldConfig.overrides
      .find(({ matcher }) => matcher.id === 'byName' && matcher.options === field)
      ?.properties.find(({ id }) => id === 'links')?.value[0]?.url;
  const rows = results.map(({ metric, value }) =>
    fields.map((field) => {
      const url = linkOf(field);
      const text =
        field === 'Value' ? formatValue(Number(value![1]), fieldConfig.defaults.unit) : (metric[field] ?? '');
      return { text, ...(url !== undefined && { href: fillLink(url, metric, variables) }) };
    }),
  );
  return { columns: fields.map((name) => renameByName[name] ?? name), rows };
}

/** @throws Error for a variable that Grafana would leave as it is */
function fillLink(
  url: string,
  row: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>>,
): string {
  return url.replaceAll(/\$\{([\w.]+)(?::(\w+))?\}|\$__url_time_range/g, (all, name?: string, format?: string) => {
    const ofUrl = { __url_time_range: 'from=now-6h&to=now' }[(name ?? all).replace('$', '')];
    if (ofUrl !== undefined) return ofUrl;
    if (format === 'queryparam' && variables[name!] !== undefined)
      return `var-${name}=${encodeURIComponent(variables[name!]!)}`;
    const field = /^__data\.fields\.(\w+)$/.exec(name ?? '')?.[1];
    if (format === 'percentencode' && field !== undefined && row[field] !== undefined)
      return encodeURIComponent(row[field]);
    throw new Error(`${all} has no value in ${url}`);
  });
}

/** Prometheus counts the smaller values in each bucket too. */
function separateBuckets(series: readonly DrawnSeries[]) {
  const sorted = [...series].sort((a, b) => bound(a) - bound(b));
  return sorted.map(({ name, values }, i) => ({
    bound: name,
    counts: values.map((value, time) =>
      value === null ? null : value - (i === 0 ? 0 : (sorted[i - 1]!.values[time] ?? 0)),
    ),
  }));
}

const bound = ({ name }: DrawnSeries): number => (name === '+Inf' ? Infinity : Number(name));
