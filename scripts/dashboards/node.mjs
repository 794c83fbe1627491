// The dashboard of one node.
import { dashboard, growth, heatmap, lines, NODE_UID, number, pins, row, states, table } from './panels.mjs';

/** A metric of the chosen node. @param {string} name @param {string} [matchers] */
const metric = (name, matchers = '') =>
  `cpusetd_${name}{cluster=~"$cluster",instance=~"$instance"${matchers && `,${matchers}`}}`;

/** @param {string} name */
const buckets = (name) => `sum by (le) (increase(${metric(`${name}_bucket`)}[$__rate_interval]))`;

export function buildNode() {
  return dashboard({
    uid: NODE_UID,
    title: 'cpusetd / node',
    description: 'CPUs, promises and health of one node with cpusetd.',
    ofNode: true,
  })
    .withRow(row('Now'))
    .withPanel(
      number({
        title: 'Pins containers',
        description: 'Containers that start now are pinned: over NRI, or by the CRI proxy.',
        expr: pins(metric),
        isGood: true,
        runbook: 'cpusetdnotpinning',
      }),
    )
    .withPanel(
      number({
        title: 'Alarms',
        description: 'Problems that are raised now.',
        expr: `sum(${metric('alarms')})`,
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
        expr: metric('free_cpus'),
      }),
    )
    .withPanel(
      number({
        title: 'Largest request in a NUMA node',
        description: 'The most CPUs that one new container can get in one NUMA node.',
        expr: metric('largest_aligned_request_cpus', 'boundary="numa_node"'),
        runbook: 'the-largest-aligned-request',
      }),
    )
    .withPanel(
      number({
        title: 'Fragmentation',
        description: 'The part of the free CPUs whose core is partly used or reserved.',
        expr: metric('free_cpus_fragmentation_ratio'),
        unit: 'percentunit',
      }),
    )
    .withRow(row('CPUs'))
    .withPanel(
      lines({
        title: 'Exclusive CPUs by NUMA node',
        description: 'CPUs that belong to one container or pod.',
        queries: [[metric('cpu_manager_allocation_per_numa'), 'node {{numa_node}}']],
        stacked: true,
      }),
    )
    .withPanel(
      lines({
        title: 'What still fits',
        description: 'The most CPUs that one new container can get in whole cores, in one cache, in one NUMA node.',
        queries: [
          [metric('free_cpus'), 'free'],
          [metric('largest_aligned_request_cpus'), '{{boundary}}'],
        ],
        runbook: 'the-largest-aligned-request',
      }),
    )
    .withPanel(
      lines({
        title: 'Free units',
        description: 'Cores, caches and NUMA nodes that are free as a whole.',
        queries: [[metric('free_units'), '{{unit}}']],
      }),
    )
    .withPanel(
      lines({
        title: 'Shared pool',
        description: 'CPUs of containers without CPUs of their own.',
        queries: [[`${metric('cpu_manager_shared_pool_size_millicores')} / 1000`, 'CPUs']],
      }),
    )
    .withRow(row('Promises'))
    .withPanel(
      lines({
        title: 'Containers by verdict',
        description: 'What became of each promise.',
        queries: [[metric('container_verdicts'), '{{verdict}}']],
        stacked: true,
        runbook: 'verdicts',
      }),
    )
    .withPanel(
      lines({
        title: 'Drift by cause',
        description: 'Cpusets that another process changed.',
        queries: [[growth(metric, 'drift_total', ['cause']), '{{cause}}']],
        runbook: 'cpusetddrift',
      }),
    )
    .withPanel(
      lines({
        title: 'Repairs',
        description: 'Attempts to repair a drift.',
        queries: [[growth(metric, 'repairs_total', ['outcome']), '{{outcome}}']],
        runbook: 'cpusetdrepairsfail',
      }),
    )
    .withPanel(
      lines({
        title: 'Requests and refusals',
        description:
          'Containers entitled to exclusive CPUs, those that got none, and all refusals by code with every retry.',
        queries: [
          [growth(metric, 'cpu_manager_pinning_requests_total'), 'requests'],
          [growth(metric, 'cpu_manager_pinning_errors_total'), 'got none'],
          [growth(metric, 'refusals_total', ['code']), '{{code}}'],
        ],
        runbook: 'cpusetdpinningfails',
      }),
    )
    .withPanel(
      lines({
        title: 'Aligned allocations',
        description: 'Allocations of whole cores, in one cache, in one NUMA node.',
        queries: [[growth(metric, 'container_aligned_compute_resources_count', ['boundary', 'scope']), '{{boundary}}']],
      }),
    )
    .withPanel(
      lines({
        title: 'Alarms by kind',
        description: 'Problems that are raised.',
        queries: [[metric('alarms'), '{{kind}}']],
        stacked: true,
        longLegend: true,
        runbook: 'alarms',
      }),
    )
    .withRow(row('Runtime and latencies'))
    .withPanel(
      lines({
        title: 'Gap',
        description: 'Time in which containers could start without cpusetd.',
        unit: 's',
        queries: [[growth(metric, 'gap_seconds_total'), 'seconds']],
        runbook: 'cpusetdgap',
      }),
    )
    .withPanel(
      states({
        title: 'Connections',
        description: 'The state of the connection to the runtime (NRI, CRI) and to the API server.',
        queries: [
          [(state) => metric('nri_connection_state', `state="${state}"`), 'NRI'],
          [(state) => metric('cri_connection_state', `state="${state}"`), 'CRI'],
          [(state) => metric('kube_connection_state', `state="${state}"`), 'API server'],
        ],
        runbook: 'health',
      }),
    )
    .withPanel(
      heatmap({ title: 'Decisions', description: 'Time to decide one request.', expr: buckets('decision_seconds') }),
    )
    .withPanel(
      heatmap({
        title: 'Saves',
        description: 'Time to write the state durably; a creation waits for it.',
        expr: buckets('state_write_seconds'),
        runbook: 'cpusetdsavesslowly',
      }),
    )
    .withPanel(
      heatmap({
        title: 'Cgroup writes',
        description: 'Time of all cgroup writes of one decision.',
        expr: buckets('cgroup_write_seconds'),
      }),
    )
    .withRow(row('Use, rules and lent resources (with --collect-interval)'))
    .withPanel(
      lines({
        title: 'CPUs in use',
        description:
          'CPUs that all processes use; of exclusive CPUs what their owners use, what others use, and what is unused; and CPUs that are lent.',
        queries: [
          [`${metric('cpu_total_usage')} / 1000`, 'used'],
          [`${metric('exclusive_cpu_owners')} / 1000`, 'exclusive, by owners'],
          [`${metric('exclusive_cpu_others')} / 1000`, 'exclusive, by others'],
          [`${metric('exclusive_cpu_idle')} / 1000`, 'exclusive, unused'],
          [metric('lent_cpu_cores'), 'lent'],
        ],
        runbook: 'use-of-the-node-and-rules',
      }),
    )
    .withPanel(
      lines({
        title: 'Rules',
        description:
          'Rules whose threshold is passed, containers that they throttle, and 1 while they keep new pods away.',
        queries: [
          [`sum(${metric('qos_rule_triggered')})`, 'rules above their threshold'],
          [metric('qos_throttled_containers'), 'throttled containers'],
          [metric('qos_scheduling_disabled'), 'new pods kept away'],
        ],
        runbook: 'cpusetdrulesactlong',
      }),
    )
    .withPanel(
      lines({
        title: 'Actions of rules',
        description: 'What was done, has failed, or in mode preview would have been done.',
        queries: [[growth(metric, 'qos_actions_total', ['action', 'outcome']), '{{action}}, {{outcome}}']],
        longLegend: true,
        runbook: 'use-of-the-node-and-rules',
      }),
    )
    .withPanel(
      lines({
        title: 'Waiting on CPUs of their own',
        description:
          'The ten containers whose threads waited longest for a CPU, in seconds of a second; it needs --container-metrics on too.',
        queries: [
          [`topk(10, ${metric('promised_set_wait_seconds_per_second')})`, '{{namespace}}/{{pod}}/{{container}}'],
        ],
        unit: 's',
        runbook: 'series-for-each-container',
      }),
    )
    .withRow(row('Containers (with --container-metrics on)'))
    .withPanel(
      table({
        title: 'Pinned containers',
        description: 'The number of CPUs of each pinned container, with its set, NUMA nodes and kind.',
        expr: `${metric('container_cpus')} * on (cluster, instance, namespace, pod, container) group_left (kind, cpus, numa_nodes) ${metric('container_info')}`,
        order: ['namespace', 'pod', 'container', 'Value', 'cpus', 'numa_nodes', 'kind'],
        hidden: ['cluster', 'instance'],
        names: { Value: 'CPUs', cpus: 'set', numa_nodes: 'NUMA nodes' },
        runbook: 'series-for-each-container',
      }),
    )
    .withPanel(
      table({
        title: 'Verdict of each container',
        description: 'The present verdict on each pinned container.',
        expr: `${metric('container_verdict')} == 1`,
        order: ['namespace', 'pod', 'container', 'verdict'],
        hidden: ['cluster', 'instance', 'Value'],
        runbook: 'verdicts',
      }),
    )
    .build();
}
