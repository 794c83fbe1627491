import type { ControlPlaneFacts } from '../../e2e/rig/api-server';

/** The variable that hands the facts of the cluster to the tests. */
export const clusterVariable = 'CPUSETD_TEST_CLUSTER';
/** The variable that says why there is no cluster. */
export const whyNotVariable = 'CPUSETD_TEST_NO_CLUSTER';

export interface ClusterFacts extends ControlPlaneFacts {
  /** The identity of cpusetd: the service account with the rights of deploy/components/api-server/rbac.yaml. */
  readonly cpusetdKubeconfig: string;
}

/** The cluster that runs for all tests. @throws when there is none */
export function readClusterFacts(): ClusterFacts {
  const facts = process.env[clusterVariable];
  if (facts === undefined) throw new Error(`no cluster: ${process.env[whyNotVariable] ?? 'run npm run e2e:cluster'}`);
  return JSON.parse(facts) as ClusterFacts;
}

/**
 * Lets the rig use another cluster from now on, in this test file only. Nothing may have been asked of the first one.
 */
export function useCluster(plane: ControlPlaneFacts): void {
  const facts: ClusterFacts = { ...plane, cpusetdKubeconfig: plane.kubeconfigs.nobody };
  process.env[clusterVariable] = JSON.stringify(facts);
}
