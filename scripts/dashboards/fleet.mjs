// The dashboard of all nodes.
import { dashboard, growth, lines, number, pins, row, table } from './panels.mjs';

/** A metric of the chosen clusters. @param {string} name @param {string} [matchers] */
const metric = (name, matchers = '') => `cpusetd_${name}{cluster=~"$cluster"${matchers && `,${matchers}`}}`;

export function buildFleet() {
  return dashboard({
    uid: 'cpusetd-fleet',
    title: 'cpusetd / fleet',
    description: 'All nodes with cpusetd: free CPUs, what still fits, promises that are not kept.',
    ofNode: false,
  })
    .withRow(row('Now'))
    .withPanel(
      number({
        title: 'Nodes',
        description: 'Nodes that expose metrics.',
        expr: `count(${metric('build_info')})`,
        span: 3,
      }),
    )
    .withPanel(
      number({
        title: 'Nodes without metrics',
        description: 'Nodes whose cpusetd Prometheus cannot reach. No other number here counts them.',
        expr: `sum(1 - up{cluster=~"$cluster",job="cpusetd"})`,
        redFrom: 1,
        span: 3,
        runbook: 'cpusetddown',
      }),
    )
    .withPanel(
      number({
        title: 'Nodes that do not pin',
        description: 'Nodes where containers that start now are not pinned.',
        expr: `sum(1 - (${pins(metric)}))`,
        span: 3,
        redFrom: 1,
        runbook: 'cpusetdnotpinning',
      }),
    )
    .withPanel(
      number({
        title: 'Nodes with alarms',
        description: 'Nodes on which something needs attention.',
        span: 3,
        expr: `sum(max by (cluster, instance) (${metric('alarms')}) > bool 0)`,
        redFrom: 1,
        runbook: 'alarms',
      }),
    )
    .withPanel(
      number({
        title: 'Promises not kept',
        description: 'Containers whose CPUs are not those that were promised, or can’t be read.',
        expr: `sum(${metric('container_verdicts', 'verdict=~"violated|drifted|unknown"')})`,
        redFrom: 1,
        runbook: 'cpusetdpromisebroken',
      }),
    )
    .withPanel(
      number({
        title: 'Free CPUs',
        description: 'CPUs without an owner that are not reserved.',
        expr: `sum(${metric('free_cpus')})`,
      }),
    )
    .withPanel(
      number({
        title: 'Largest request in a NUMA node',
        description: 'The most CPUs that one new container can get in one NUMA node of any node.',
        expr: `max(${metric('largest_aligned_request_cpus', 'boundary="numa_node"')})`,
        runbook: 'the-largest-aligned-request',
      }),
    )
    .withRow(row('Capacity'))
    .withPanel(
      lines({
        title: 'Exclusive and free CPUs',
        description: 'Sums over all nodes.',
        queries: [
          [`sum(${metric('cpu_manager_exclusive_cpu_allocation_count')})`, 'exclusive'],
          [`sum(${metric('free_cpus')})`, 'free'],
        ],
        stacked: true,
      }),
    )
    .withPanel(
      lines({
        title: 'Largest request that can be aligned',
        description: 'On the node that has most.',
        queries: [[`max by (boundary) (${metric('largest_aligned_request_cpus')})`, '{{boundary}}']],
        runbook: 'the-largest-aligned-request',
      }),
    )
    .withPanel(
      lines({
        title: 'Free units',
        description: 'Cores, caches and NUMA nodes that are free as a whole.',
        queries: [[`sum by (unit) (${metric('free_units')})`, '{{unit}}']],
      }),
    )
    .withPanel(
      lines({
        title: 'Fragmentation',
        description:
          'The part of the free CPUs whose core is partly used or reserved, weighted by the free CPUs of each node.',
        unit: 'percentunit',
        queries: [
          [
            `sum(${metric('free_cpus_fragmentation_ratio')} * ${metric('free_cpus')}) / sum(${metric('free_cpus')})`,
            'all',
          ],
          [`topk(5, ${metric('free_cpus_fragmentation_ratio')})`, '{{instance}}'],
        ],
      }),
    )
    .withPanel(
      table({
        title: 'Free CPUs in one NUMA node, by node',
        description: 'The largest request that each node can still align to a NUMA node.',
        expr: `sort_desc(${metric('largest_aligned_request_cpus', 'boundary="numa_node"')})`,
        order: ['cluster', 'instance', 'Value'],
        hidden: ['boundary'],
        linksToNode: true,
        names: { Value: 'CPUs' },
        runbook: 'the-largest-aligned-request',
      }),
    )
    .withRow(row('Promises'))
    .withPanel(
      lines({
        title: 'Containers by verdict',
        description: 'What became of each promise.',
        queries: [[`sum by (verdict) (${metric('container_verdicts')})`, '{{verdict}}']],
        stacked: true,
        runbook: 'verdicts',
      }),
    )
    .withPanel(
      lines({
        title: 'Drift by cause',
        description: 'Cpusets that another process changed.',
        queries: [[`sum by (cause) (${growth(metric, 'drift_total', ['cause'])})`, '{{cause}}']],
        runbook: 'cpusetddrift',
      }),
    )
    .withPanel(
      lines({
        title: 'Refusals by code',
        description: 'Refused creations and starts, with every retry.',
        queries: [[`sum by (code) (${growth(metric, 'refusals_total', ['code'])})`, '{{code}}']],
        runbook: 'cpusetdpinningfails',
      }),
    )
    .withPanel(
      lines({
        title: 'Containers that started in a gap',
        description: 'Containers that started without cpusetd and were placed afterwards.',
        queries: [[`sum by (instance) (${growth(metric, 'gap_containers_total')}) > 0`, '{{instance}}']],
        runbook: 'cpusetdgap',
      }),
    )
    .withRow(row('Health'))
    .withPanel(
      lines({
        title: 'Slowest saves (p99)',
        description: 'The five nodes that save their state slowest; a creation waits for it.',
        unit: 's',
        queries: [
          [
            `topk(5, histogram_quantile(0.99, sum by (instance, le) (rate(${metric('state_write_seconds_bucket')}[$__rate_interval]))))`,
            '{{instance}}',
          ],
        ],
        runbook: 'cpusetdsavesslowly',
      }),
    )
    .withPanel(
      lines({
        title: 'Versions',
        description: 'Nodes by version of cpusetd.',
        queries: [[`count by (version) (${metric('build_info')})`, '{{version}}']],
        stacked: true,
        runbook: 'cpusetdversionsdiffer',
      }),
    )
    .build();
}
