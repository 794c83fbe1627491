// The building blocks of the dashboards: panels of a few kinds, each with a description, a unit and a link to the runbook.
import { BigValueGraphMode, StackingMode } from '@grafana/grafana-foundation-sdk/common';
import { StackingConfigBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import {
  PanelBuilder as HeatmapBuilder,
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** The data source that the reader chooses. */
const datasource = { type: 'prometheus', uid: '${datasource}' };

/**
 * @typedef {object} PanelText
 * @property {string} title
 * @property {string} description
 * @property {string} [unit] Grafana's id of a unit; by default a plain number
 * @property {string} [runbook] the anchor in docs/monitoring.md
 * @property {number} [span] columns of 24
 */

/** @param {string} expr @param {string} legend */
function query(expr, legend) {
  return new DataqueryBuilder().expr(expr).legendFormat(legend).datasource(datasource);
}

/**
 * @template {TimeseriesBuilder | StatBuilder | HeatmapBuilder | TableBuilder} Builder
 * @param {Builder} builder
 * @param {PanelText} text
 * @returns {Builder}
 */
function describe(builder, { title, description, unit = 'short', runbook = 'metrics', span = 12 }) {
  builder.title(title).description(`${description} More: docs/monitoring.md#${runbook}`);
  builder.datasource(datasource).unit(unit).span(span);
  return builder;
}

/**
 * Lines over time.
 * @param {PanelText & { queries: [expr: string, legend: string][], stacked?: boolean }} panel
 */
export function lines({ queries, stacked = false, ...text }) {
  const builder = describe(new TimeseriesBuilder(), text)
    .height(8)
    .min(0)
    .lineWidth(1)
    .fillOpacity(stacked ? 40 : 5);
  if (stacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  queries.forEach(([expr, legend], i) => builder.withTarget(query(expr, legend).refId(letter(i))));
  return builder;
}

/**
 * One number now. `redAbove`: from this value on it is red.
 * @param {PanelText & { expr: string, legend?: string, redAbove?: number }} panel
 */
export function number({ expr, legend = '', redAbove, ...text }) {
  const builder = describe(new StatBuilder(), { span: 4, ...text })
    .height(4)
    .graphMode(BigValueGraphMode.Area);
  const steps = [
    { value: /** @type {any} */ (null), color: 'green' },
    ...(redAbove === undefined ? [] : [{ value: redAbove, color: 'red' }]),
  ];
  builder.thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps));
  return builder.withTarget(query(expr, legend).refId('A'));
}

/**
 * A histogram over time.
 * @param {PanelText & { expr: string }} panel
 */
export function heatmap({ expr, ...text }) {
  const builder = describe(new HeatmapBuilder(), { unit: 's', span: 8, ...text }).height(8);
  builder.calculate(false).color(new HeatmapColorOptionsBuilder().mode(HeatmapColorMode.Scheme).scheme('Oranges'));
  return builder.withTarget(query(expr, '{{le}}').format(PromQueryFormat.Heatmap).refId('A'));
}

/**
 * A table of the series as they are now; `hidden` are labels without a column.
 * @param {PanelText & { expr: string, hidden: string[], names?: Record<string, string> }} panel
 */
export function table({ expr, hidden, names = {}, ...text }) {
  const builder = describe(new TableBuilder(), { span: 24, ...text }).height(10);
  builder.withTarget(query(expr, '').format(PromQueryFormat.Table).instant().refId('A'));
  const excludeByName = Object.fromEntries(['Time', '__name__', 'job', ...hidden].map((name) => [name, true]));
  return builder.withTransformation({ id: 'organize', options: { excludeByName, renameByName: names } });
}

/** @param {string} title */
export function row(title) {
  return new RowBuilder(title);
}

/**
 * An empty dashboard with its variables: the data source, the cluster, and for one node the instance.
 * @param {{ uid: string, title: string, description: string, ofNode: boolean }} head
 */
export function dashboard({ uid, title, description, ofNode }) {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the newer format can't be imported before Grafana 12
  const builder = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['cpusetd'])
    .readonly()
    .timezone('browser')
    .time({ from: 'now-6h', to: 'now' })
    .refresh('1m')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      variable('cluster', 'Cluster', 'label_values(cpusetd_build_info, cluster)').includeAll(true).allValue('.*'),
    );
  if (ofNode)
    builder.withVariable(
      variable('instance', 'Node', 'label_values(cpusetd_build_info{cluster=~"$cluster"}, instance)'),
    );
  return builder.link(
    new DashboardLinkBuilder('cpusetd')
      .type(DashboardLinkType.Dashboards)
      .tags(['cpusetd'])
      .keepTime(true)
      .includeVars(true),
  );
}

/** @param {string} name @param {string} label @param {string} labelValues */
function variable(name, label, labelValues) {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(datasource)
    .query({ query: labelValues, refId: name })
    .definition(labelValues)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
}

/** @param {number} index */
function letter(index) {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}
