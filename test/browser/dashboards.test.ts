import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { ROOT } from '../docs/markdown';
import { withPrometheus, type QueryResult } from '../monitoring/live-prometheus';
import { findPrometheus, type PrometheusPrograms } from '../monitoring/promtool';
import { builtBundle } from '../support/built-bundle';
import { defineWithPrerequisite } from '../support/not-run';
import { patienceMs, waitUntil } from '../support/wait-until';
import { defineInChromium } from './rig/chromium';
import { drawDashboard, lookAt, prepareDrawing, type Seen } from './rig/draw-dashboard';
import type { DrawnPanel } from './rig/drawn-panel';
import { DashboardReader } from './rig/read-dashboard';
import { ScrapedNode } from './rig/scraped-node';

// The dashboards of deploy/grafana, drawn from a real Prometheus that scrapes two real daemons.

/** The nodes: the part of each CPU's time that is used holds for both. */
const BUSY = 0.25;
const CPUS = 16;
const CPUS_OF_OTHER = 8;

/** Grafana's colours on the dark theme, as Chromium names them. */
const RED = 'rgb(242, 73, 92)';
const GREEN = 'rgb(115, 191, 105)';
const NEUTRAL = 'rgb(204, 204, 220)';

interface Shown {
  readonly panels: readonly DrawnPanel[];
  readonly seen: ReadonlyMap<string, Seen>;
}
type Name =
  | 'node'
  | 'fleet'
  | 'node while the runtime is away'
  | 'fleet while the runtime is away'
  | 'ended node'
  | 'fleet with an ended node';

const programs = findPrometheus();
defineWithPrerequisite('obstacle' in programs ? programs.obstacle : undefined, () =>
  defineInChromium((launch) => {
    const shown = new Map<Name, Shown>();
    const errors: string[] = [];
    let full: ScrapedNode;
    let node: DashboardReader;
    let fleet: DashboardReader;

    /** Two nodes, of which one lives through everything that the dashboards show. The other one ends at last. */
    beforeAll(async () => {
      builtBundle();
      full = new ScrapedNode({ machine: '2x4x2-2numa', cpus: CPUS, busy: BUSY, full: true });
      const other = new ScrapedNode({ machine: '1x4x2', cpus: CPUS_OF_OTHER, busy: BUSY, full: false });
      let browser: Browser | undefined;
      try {
        await full.start();
        await other.start();
        browser = await launch();
        const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
        page.on('pageerror', (error) => errors.push(String(error)));
        await prepareDrawing(page);
        const rules = join(ROOT, 'deploy/monitoring/prometheus-rules.yaml');
        const { prometheus } = programs as PrometheusPrograms;
        await withPrometheus(prometheus, { targetPorts: [full.port, other.port], rules }, async (query, url) => {
          node = new DashboardReader('node.json', url);
          fleet = new DashboardReader('fleet.json', url);
          await live({ full, other, page, query });
        });
      } finally {
        await browser?.close();
        await full.close();
        await other.close();
      }
    });

    interface Stage {
      readonly full: ScrapedNode;
      readonly other: ScrapedNode;
      readonly page: Page;
      readonly query: (expression: string) => Promise<QueryResult>;
    }

    async function live({ full, other, page, query }: Stage): Promise<void> {
      const startedAt = Date.now() / 1000;
      const span = () => ({ from: startedAt, to: Date.now() / 1000 });
      const until = (expression: string) =>
        waitUntil(expression, async () => ((await query(expression)).data?.result.length ?? 0) > 0, patienceMs, {
          everyMs: 200,
        });
      /** For two seconds, so that every line has a point of it. */
      const untilShown = (expression: string) => until(`count_over_time((${expression})[5m:1s]) >= 2`);
      const drawNode = (instance = full.instance) => node.draw({ cluster: '.*', instance, datasource: 'p' }, span());
      const drawFleet = () => fleet.draw({ cluster: '.*', datasource: 'p' }, span());
      const show = async (name: Name, panels: readonly DrawnPanel[]) => {
        await drawDashboard(page, name.replaceAll(' ', '-'), panels);
        const seen = new Map<string, Seen>();
        for (const { title } of panels) seen.set(title, await lookAt(page, title));
        shown.set(name, { panels, seen });
      };

      await full.run('db', 4);
      await full.run('cache', 2);
      await full.run('web', 0);
      await other.run('api', 2);
      await until('count(cpusetd_build_info) == 2');
      expect((await node.offers('instance')).toSorted()).toEqual([full.instance, other.instance].sort());
      full.tamper('cache', '0-3');
      await expect(full.run('large', 100)).rejects.toThrow();
      for (let i = 0; i < 5; i++) {
        await full.run(`job-${i}`, 1);
        await full.remove(`job-${i}`);
      }
      for (const name of ['drift_total', 'repairs_total', 'refusals_total', 'cpu_manager_pinning_requests_total'])
        await untilShown(`increase(cpusetd_${name}[4s]) > 0`);

      await full.stopRuntime();
      await until('cpusetd_nri_connection_state{state="connecting"} == 1');
      await show('node while the runtime is away', await drawNode());
      await show('fleet while the runtime is away', await drawFleet());

      await full.startRuntime('late');
      for (const name of ['gap_seconds_total', 'gap_containers_total'])
        await untilShown(`increase(cpusetd_${name}[4s]) > 0`);
      // Of 7 CPUs.
      await untilShown(`cpusetd_exclusive_cpu_idle > ${(7 * (1 - BUSY) - 0.5) * 1000}`);
      await until(`sum(cpusetd_container_verdicts{verdict="kept",instance="${full.instance}"}) == 4`);
      await show('node', await drawNode());
      await show('fleet', await drawFleet());

      await other.close();
      await until('up == 0');
      await show('ended node', await drawNode(other.instance));
      await show('fleet with an ended node', await drawFleet());
    }

    const numberIn = (name: Name, title: string) => shown.get(name)!.seen.get(title)!.number;

    test('nothing fails in the browser', () => expect(errors).toEqual([]));

    describe.each([
      ['node', CPUS, () => node],
      ['fleet', CPUS + CPUS_OF_OTHER, () => fleet],
    ] as const)('%s', (name, cpus, reader) => {
      /** Facts about each panel that are wrong. */
      const wrong = (check: (panel: DrawnPanel, seen: Seen) => unknown[]): string[] => {
        const { panels, seen } = shown.get(name)!;
        expect(panels.length).toBeGreaterThan(15);
        return panels.flatMap((panel) =>
          check(panel, seen.get(panel.title)!).map((fact) => `${panel.title}: ${String(fact)}`),
        );
      };

      test('each panel has data, and something is seen of it', () => {
        const ofPanel = (panel: DrawnPanel, { inked, number, names }: Seen): string[] => {
          if (panel.type === 'row') return [];
          if (panel.type === 'stat') return number === undefined || number.text === 'No data' ? ['no number'] : [];
          if (panel.type === 'table') return panel.rows.length === 0 || names.length === 0 ? ['no rows'] : [];
          return inked < 50 ? [`${inked} pixels of lines`] : [];
        };
        expect(wrong(ofPanel)).toEqual([]);
      });

      test('the names of all series are readable, and no two are the same', () => {
        const ofPanel = (panel: DrawnPanel, { names }: Seen): string[] => {
          if (panel.type === 'timeseries') {
            const own = panel.series.map((each) => each.name);
            const missing = own.filter(
              (each) => each === '' || !names.some((text) => text === each || text.startsWith(`${each}: `)),
            );
            return [
              ...missing.map((each) => `“${each}” is not seen`),
              ...(new Set(own).size < own.length ? ['twice the same name'] : []),
            ];
          }
          if (panel.type !== 'state-timeline') return [];
          return [...panel.rows.map((row) => row.name), 'ready', 'connecting'].filter((each) => !names.includes(each));
        };
        expect(wrong(ofPanel)).toEqual([]);
      });

      test('no value is outside of what its unit allows', () => {
        const ofPanel = (panel: DrawnPanel): string[] => {
          if (panel.type !== 'timeseries') return [];
          const quantity = reader().quantityOf(panel.title);
          const most = { CPUs: cpus, ratio: 1, s: 60 }[quantity as string] ?? 1000;
          return panel.series.flatMap(({ name: seriesName, values }) =>
            values
              .filter((value) => value !== null && (value < 0 || value > most))
              .map((value) => `${seriesName} ${value} of ${most} ${quantity}`),
          );
        };
        expect(wrong(ofPanel)).toEqual([]);
        const { panels } = shown.get(name)!;
        expect(
          panels.filter(({ type, title }) => type === 'timeseries' && reader().quantityOf(title) === 'CPUs').length,
        ).toBeGreaterThan(1);
      });
    });

    test('a node without options has all but the rows that name one', () => {
      let option: string | undefined;
      const wrong = shown.get('ended node')!.panels.filter((panel) => {
        if (panel.type === 'row') option = / \(with (--[a-z-]+)/.exec(panel.title)?.[1];
        const parts = { timeseries: 'series', 'state-timeline': 'rows', heatmap: 'buckets', table: 'rows' } as const;
        if (panel.type === 'row' || panel.type === 'stat') return false;
        const values = (panel as unknown as Record<string, readonly unknown[]>)[parts[panel.type]]!;
        return (values.length === 0) !== (option !== undefined);
      });
      expect(wrong.map(({ title }) => title)).toEqual([]);
    });

    /** The largest value of a series. */
    function mostOf(name: Name, title: string, series: string): number {
      const panel = shown.get(name)!.panels.find((each) => each.title === title)!;
      const shownSeries = panel.type === 'timeseries' ? panel.series.find((each) => each.name === series) : undefined;
      return Math.max(...(shownSeries?.values ?? []).map((value) => value ?? 0));
    }

    test('the lines have what the nodes went through', () => {
      const happened: readonly [name: Name, title: string, series: string][] = [
        ['node', 'Drift by cause', 'unknown-writer'],
        ['node', 'Repairs', 'ok'],
        ['node', 'Requests and refusals', 'requests'],
        ['node', 'Requests and refusals', 'RESOURCE_EXHAUSTED'],
        ['node', 'Aligned allocations', 'numa_node'],
        ['node', 'Gap', 'seconds'],
        ['fleet', 'Drift by cause', 'unknown-writer'],
        ['fleet', 'Containers that started in a gap', full.instance],
      ];
      expect(happened.filter(([name, title, series]) => !(mostOf(name, title, series) > 0))).toEqual([]);
      expect(mostOf('node', 'Exclusive CPUs by NUMA node', 'node 0')).toBeGreaterThanOrEqual(7);
      expect(mostOf('node', 'Rules', 'rules above their threshold')).toBe(2);
      expect(mostOf('fleet', 'Versions', '0.1.0')).toBe(2);
    });

    test('CPUs in use are those of the machine', () => {
      const used = mostOf('node', 'CPUs in use', 'used');
      expect(Math.abs(used - CPUS * BUSY)).toBeLessThan(0.5);
      const unused = mostOf('node', 'CPUs in use', 'exclusive, unused');
      // Of db, cache and late; and of a job at most.
      expect(unused).toBeGreaterThan(7 * (1 - BUSY) - 0.5);
      expect(unused).toBeLessThan(8 * (1 - BUSY) + 0.5);
      expect(mostOf('node', 'CPUs in use', 'lent')).toBeGreaterThan(0);
    });

    test('connections: each state has its own colour', () => {
      const panel = shown.get('node')!.panels.find(({ title }) => title === 'Connections')!;
      const nri = panel.type === 'state-timeline' ? panel.rows.find(({ name }) => name === 'NRI')!.values : [];
      const states = nri.flatMap((value) => (value ? [`${value.text} ${value.color}`] : []));
      expect(states).toEqual(expect.arrayContaining(['ready green', 'connecting red']));
      expect(
        states.filter((state) => !['ready green', 'connecting red', 'synchronizing orange'].includes(state)),
      ).toEqual([]);
    });

    test.each<[tile: string, name: Name, text: string, colour: string]>([
      ['Pins containers', 'node', 'yes', GREEN],
      ['Pins containers', 'node while the runtime is away', 'no', RED],
      ['Pins containers', 'ended node', 'No data', NEUTRAL],
      ['Alarms', 'node', '0', GREEN],
      ['Alarms', 'ended node', 'No data', NEUTRAL],
      ['Promises not kept', 'node', '0', GREEN],
      ['Promises not kept', 'ended node', 'No data', NEUTRAL],
      ['Free CPUs', 'node', '7', NEUTRAL],
      ['Nodes', 'fleet', '2', NEUTRAL],
      ['Nodes', 'fleet with an ended node', '1', NEUTRAL],
      ['Nodes without metrics', 'fleet', '0', GREEN],
      ['Nodes without metrics', 'fleet with an ended node', '1', RED],
      ['Nodes that do not pin', 'fleet', '0', GREEN],
      ['Nodes that do not pin', 'fleet while the runtime is away', '1', RED],
    ])('the tile “%s”, %s: %s', (tile, name, text, colour) => {
      expect(numberIn(name, tile)).toEqual({ text, colour });
    });

    test('each row of the nodes leads to the dashboard of its node', () => {
      const { panels, seen } = shown.get('fleet')!;
      const panel = panels.find(({ title }) => title === 'Free CPUs in one NUMA node, by node')!;
      const instances =
        panel.type === 'table' ? panel.rows.map((cells) => cells.find(({ href }) => href !== undefined)!.text) : [];
      expect(instances).toContain(full.instance);
      expect(seen.get(panel.title)!.links).toEqual(
        instances.map((instance) => {
          const at = `/d/${node.uid}?var-datasource=p&var-cluster=.*&var-instance=${encodeURIComponent(instance)}`;
          return `${at}&from=now-6h&to=now`;
        }),
      );
    });
  }),
);
