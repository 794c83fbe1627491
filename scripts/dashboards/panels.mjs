// The building blocks of the dashboards: panels of a few kinds, each with a description, a unit and a link to the
// runbook.
import {
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
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
  YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** The data source that the reader chooses. */
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** The address of the dashboard of one node. */
export const NODE_UID = 'cpusetd-node';

/**
 * @typedef {object} PanelText
 * @property {string} title
 * @property {string} description
 * @property {string} [unit] Grafana's id of a unit; by default a plain number
 * @property {string} [runbook] the anchor in docs/monitoring.md
 * @property {number} [span] columns of 24
 */

/**
 * 1 for each node on which cpusetd pins containers that start now, over NRI or as CRI proxy, else 0.
 * @param {(name: string, matchers: string) => string} metric a metric of the chosen nodes
 */
export function pins(metric) {
  const [ready, off] = [metric('nri_connection_state', 'state="ready"'), metric('nri_connection_state', 'state="off"')];
  const runtimeAnswers = metric('cri_connection_state', 'state="ready"');
  return `${ready} + on (cluster, instance) ${off} * on (cluster, instance) ${runtimeAnswers}`;
}

/** @param {string} expr @param {string} legend */
function query(expr, legend) {
  return new DataqueryBuilder().expr(expr).legendFormat(legend).datasource(datasource);
}

/**
 * @template {TimeseriesBuilder | StateTimelineBuilder | StatBuilder | HeatmapBuilder | TableBuilder} Builder
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
 * The names of all series below the panel; or, where there are many and most are 0, beside it, those with the largest
 * values first.
 */
function legend(isLong = false) {
  const builder = new VizLegendOptionsBuilder().showLegend(true);
  if (!isLong) return builder.displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom).calcs([]);
  builder.displayMode(LegendDisplayMode.Table).placement(LegendPlacement.Right);
  return builder.calcs(['max']).sortBy('Max').sortDesc(true);
}

/** The values of all series at the time below the mouse, the largest first. */
const tooltip = () => new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending);

/**
 * The growth of a counter over the interval of a graph. A process that is younger than that has counted all of it in
 * the interval, also what came before its first scrape: `increase` sees only what comes after one.
 * @param {(name: string) => string} metric a metric of the chosen nodes
 * @param {string} name of the counter
 * @param {string[]} labels of the counter that tell its series apart, besides those of the process
 */
export function growth(metric, name, labels = []) {
  const isYoung = `(time() - ${metric('start_time_seconds')}) * 1000 < $__rate_interval_ms`;
  return `(${metric(name)} and ignoring (${labels.join(', ')}) (${isYoung}) or increase(${metric(name)}[$__rate_interval]))`;
}

/**
 * Lines over time.
 * @param {PanelText & { queries: [expr: string, legend: string][], stacked?: boolean, longLegend?: boolean }} panel
 */
export function lines({ queries, stacked = false, longLegend = false, ...text }) {
  const builder = describe(new TimeseriesBuilder(), text)
    .height(8)
    .min(0)
    .lineWidth(1)
    .fillOpacity(stacked ? 40 : 5)
    .legend(legend(longLegend))
    .tooltip(tooltip());
  if (stacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A'));
  queries.forEach(([expr, name], i) => builder.withTarget(query(expr, name).refId(letter(i))));
  return builder;
}

/** The states of a connection, by their numbers in `states`. */
const STATES = [
  { text: 'off', color: '#808080' },
  { text: 'connecting', color: 'red' },
  { text: 'synchronizing', color: 'orange' },
  { text: 'ready', color: 'green' },
];

/**
 * The state of each connection over time, as bars.
 * @param {PanelText & { queries: [state: (name: string) => string, legend: string][] }} panel the first of a query: the
 * series that is 1 in this state
 */
export function states({ queries, ...text }) {
  const options = Object.fromEntries(STATES.map(({ text, color }, index) => [String(index), { text, color, index }]));
  const builder = describe(new StateTimelineBuilder(), text)
    .height(8)
    .mergeValues(true)
    .showValue(VisibilityMode.Auto)
    .legend(legend())
    .tooltip(tooltip())
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(thresholds([]))
    .mappings([{ type: MappingType.ValueToText, options }]);
  queries.forEach(([stateIs, name], i) => {
    const numbered = STATES.slice(1).map(({ text }, index) => `${index + 1} * ${stateIs(text)}`);
    builder.withTarget(query(numbered.join(' + ignoring (state) '), name).refId(letter(i)));
  });
  return builder;
}

/**
 * One number now. `redFrom`: from this value on it is red, below green. `isGood`: 1 is green and yes, 0 red and no.
 * Without either it is neither. It is the number of now only: that of a node which is gone is not shown, and the tile
 * then has no colour.
 * @param {PanelText & { expr: string, redFrom?: number, isGood?: boolean }} panel
 */
export function number({ expr, redFrom, isGood = false, ...text }) {
  const builder = describe(new StatBuilder(), { span: 4, ...text })
    .height(4)
    .graphMode(BigValueGraphMode.None);
  /** @type {[from: number, color: string][]} */
  const steps = isGood
    ? [
        [0, 'red'],
        [1, 'green'],
      ]
    : redFrom === undefined
      ? []
      : [
          [0, 'green'],
          [redFrom, 'red'],
        ];
  builder.thresholds(thresholds(steps));
  if (isGood)
    builder.mappings([
      { type: MappingType.ValueToText, options: { 0: { text: 'no', index: 0 }, 1: { text: 'yes', index: 1 } } },
    ]);
  return builder.withTarget(query(expr, '').instant().refId('A'));
}

/**
 * Colours of values; Grafana takes the first one where there is no value.
 * @param {[from: number, color: string][]} steps
 */
function thresholds(steps) {
  const all = [
    { value: /** @type {any} */ (null), color: 'text' },
    ...steps.map(([value, color]) => ({ value, color })),
  ];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(all);
}

/**
 * A histogram over time; `unit` is that of its buckets.
 * @param {PanelText & { expr: string }} panel
 */
export function heatmap({ expr, unit = 's', ...text }) {
  const builder = describe(new HeatmapBuilder(), { span: 8, ...text }).height(8);
  const color = new HeatmapColorOptionsBuilder()
    .mode(HeatmapColorMode.Scheme)
    .scheme('Oranges')
    .steps(64)
    .exponent(0.5);
  builder.calculate(false).color(color.fill('dark-orange')).yAxis(new YAxisConfigBuilder().unit(unit));
  return builder.withTarget(query(expr, '{{le}}').format(PromQueryFormat.Heatmap).refId('A'));
}

/**
 * A table of the series as they are now; `order` has the fields from the left, `hidden` are labels without a column.
 * `linksToNode`: each name of a node leads to its dashboard.
 * @param {PanelText & { expr: string, order: string[], hidden: string[], names?: Record<string, string>, linksToNode?:
 * boolean }} panel
 */
export function table({ expr, order, hidden, names = {}, linksToNode = false, ...text }) {
  const builder = describe(new TableBuilder(), { span: 24, ...text }).height(10);
  builder.withTarget(query(expr, '').format(PromQueryFormat.Table).instant().refId('A'));
  const excludeByName = Object.fromEntries(['Time', '__name__', 'job', ...hidden].map((name) => [name, true]));
  if (linksToNode) builder.overrideByName('instance', [{ id: 'links', value: [NODE_LINK] }]);
  const indexByName = Object.fromEntries(order.map((name, index) => [name, index]));
  return builder.withTransformation({ id: 'organize', options: { excludeByName, indexByName, renameByName: names } });
}

/**
 * To the dashboard of the node in this row. The clusters stay those that are chosen: where there is one only, its
 * series may have no such label.
 */
const NODE_LINK = {
  title: 'This node',
  url: `/d/${NODE_UID}?\${datasource:queryparam}&\${cluster:queryparam}&var-instance=\${__data.fields.instance:percentencode}&\${__url_time_range}`,
};

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
