import { execFileSync, spawnSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { startControlPlane, type ControlPlane, type ControlPlaneFacts } from '../../e2e/rig/api-server';
import { projectRoot } from '../../e2e/rig/project-root';
import { clusterVariable, whyNotVariable, type ClusterFacts } from './cluster-facts';
import { writeKubeconfig } from './identities';

/** The exit status of prepare.mjs when programs have to be built and this machine cannot. */
const statusCannotBuild = 3;

/** The address and port of the API server in the network namespace of the tests: see scripts/cluster/own-network.sh. */
const address = '10.99.0.1';
const port = '443';

declare global {
  var controlPlaneOfTests: ControlPlane | undefined;
}

/**
 * Starts one control plane for all tests of clusters, and gives cpusetd its identity and its rights there, as
 * docs/scheduling.md says. Without the programs the tests are listed as not run.
 */
export default async function setUpCluster(): Promise<void> {
  const root = projectRoot();
  const prepare = [join(root, 'scripts/cluster/prepare.mjs'), '--kubelets'];
  const prepared = spawnSync(process.execPath, prepare, { encoding: 'utf8' });
  if (prepared.status !== 0) {
    const why = prepared.stderr.trim().split('\n').at(-1) ?? 'unknown';
    if (process.env['CI'] === 'true' && prepared.status !== statusCannotBuild) throw new Error(why);
    process.env[whyNotVariable] = why;
    return;
  }
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  if (own.some(({ internal }) => !internal))
    throw new Error('these tests want a network namespace of their own: run them with `npm run e2e:cluster`');
  const controlPlane = await startControlPlane('--address', address, '--port', port);
  globalThis.controlPlaneOfTests = controlPlane;
  const facts = JSON.parse(JSON.stringify(controlPlane)) as ControlPlaneFacts; // without its functions

  const kubectl = (...args: string[]): string =>
    execFileSync(join(facts.programs, 'kubectl'), ['--kubeconfig', facts.kubeconfigs.admin, ...args], {
      encoding: 'utf8',
    });
  const qos = ['rbac.yaml', 'validating-admission-policy.yaml'].map((name) => `components/qos/${name}`);
  const rights = ['base/service-account.yaml', 'components/api-server/rbac.yaml', ...qos];
  const files = ['namespace/namespace.yaml', ...rights, 'crds'].flatMap((name) => ['-f', join(root, 'deploy', name)]);
  kubectl('apply', '--server-side', '--validate=strict', ...files);
  const token = kubectl('create', 'token', 'cpusetd', '--namespace', 'cpusetd', '--duration', '4h').trim();
  const cluster: ClusterFacts = { ...facts, cpusetdKubeconfig: writeKubeconfig('cpusetd', { token }, facts) };
  process.env[clusterVariable] = JSON.stringify(cluster);
}
