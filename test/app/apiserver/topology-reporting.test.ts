import { TopologyReporting } from '../../../src/app/apiserver/topology-reporting';
import type { Cgroups } from '../../../src/host';
import type { PromiseCounts, PublishedGap } from '../../../src/kube';
import { parseSummary, SUMMARY_ATTRIBUTE } from '../../../src/kube/node-resource-topology/node-summary';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { waitUntil } from '../../support/wait-until';
import { withKubeAccess, type KubeStage } from './kube-access-of';

const COMMUNITY = '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies';
const CRANE = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';

function report({ access, end }: KubeStage, nodeResourceTopology: string) {
  const node = new NodeDriver();
  let asked = 0;
  let counts: PromiseCounts = { pinned: 0, verdicts: {} };
  let gap: PublishedGap | undefined;
  const reporting = new TopologyReporting({
    context: contextOf({
      model: node.model,
      cgroups: {} as Cgroups,
      signal: end.signal,
      config: { nodeResourceTopology, topologyPodFingerprint: 'off' },
    }),
    access,
    kubelet: { isStatic: false, config: undefined, accept: () => undefined },
    pods: { list: [] },
    node: () => (asked++, { name: 'n1', uid: 'node-uid', labels: {} }),
    promises: { counts: () => counts, gap: () => gap },
  });
  const setPromises = (to: PromiseCounts, withGap?: PublishedGap): void => {
    counts = to;
    gap = withGap;
  };
  return { node, reporting, timesAsked: () => asked, setPromises, ended: reporting.run() };
}

const kindsOn = ({ server }: KubeStage) => [COMMUNITY, CRANE].filter((kind) => server.get(kind, 'n1') !== undefined);

test('the object is published after the first synchronization with the runtime, and not before', async () => {
  await withKubeAccess(async (stage) => {
    const { node, reporting, timesAsked, ended } = report(stage, 'community');
    reporting.touch();
    await waitUntil('a report was asked for', () => timesAsked() > 0);
    expect(kindsOn(stage)).toEqual([]);
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    reporting.touch();
    await waitUntil('published', () => kindsOn(stage).length > 0);
    expect(kindsOn(stage)).toEqual([COMMUNITY]);
    stage.end.abort();
    await ended;
  });
});

test('with nodeResourceTopology both, two objects are published', async () => {
  await withKubeAccess(async (stage) => {
    const { node, reporting, ended } = report(stage, 'both');
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    reporting.touch();
    await waitUntil('published', () => kindsOn(stage).length === 2);
    stage.end.abort();
    await ended;
  });
});

test('with nodeResourceTopology off, the API server is not called', async () => {
  await withKubeAccess(async (stage) => {
    const { ended } = report(stage, 'off');
    await ended;
    expect(stage.server.requests).toEqual([]);
  });
});

test('the summary is published in both kinds, and again when a promise is broken; a round that changes nothing is none', async () => {
  await withKubeAccess(async (stage) => {
    const { node, reporting, setPromises, timesAsked, ended } = report(stage, 'both');
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    node.run('make p1/a 2');
    const summaries = () => {
      const community = stage.server.get(COMMUNITY, 'n1')?.['attributes'] as { name: string; value: string }[];
      const crane = stage.server.get(CRANE, 'n1')?.['attributes'] as Record<string, string>;
      const texts = [community?.find(({ name }) => name === SUMMARY_ATTRIBUTE)?.value, crane?.[SUMMARY_ATTRIBUTE]];
      return texts.map((text) => parseSummary(text ?? ''));
    };
    reporting.touch();
    await waitUntil('published', () => summaries().every((summary) => summary !== undefined));
    const [first, second] = summaries();
    expect(first).toEqual(second);
    expect(first).toMatchObject({ policy: 'static', pinned: 0, verdicts: {}, alarms: [] });
    expect(first).not.toHaveProperty('gap');

    setPromises({ pinned: 1, verdicts: { drifted: 1 } }, { from: '2026-01-01T00:00:00Z', containers: 2 });
    reporting.touchPromises();
    await waitUntil('published again', () => summaries().every((summary) => summary?.verdicts.drifted === 1));
    expect(summaries()[0]).toMatchObject({ pinned: 1, gap: { from: '2026-01-01T00:00:00Z', containers: 2 } });

    const [writes, asked] = [stage.server.requests.length, timesAsked()];
    reporting.touchPromises();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([stage.server.requests.length, timesAsked()]).toEqual([writes, asked]);

    // A gap that is over and missed nothing is not told.
    const over = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:01Z', containers: 0 };
    setPromises({ pinned: 1, verdicts: {} }, over);
    reporting.touchPromises();
    await waitUntil('repaired', () =>
      summaries().every((summary) => summary && summary.verdicts.drifted === undefined),
    );
    expect(summaries()[0]).not.toHaveProperty('gap');
    stage.end.abort();
    await ended;
  });
});
