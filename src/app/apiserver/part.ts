import type { Part } from '../lifecycle/part';
import type { NodeStatus } from '../status/open-status';
import type { ApiServerParts } from './api-server';

export interface ApiServerNeeds extends ApiServerParts {
  readonly status: Pick<NodeStatus, 'showPodSource'>;
}

/** Follows the pods of this node, and publishes to the API server. */
export const apiServerPart: Part<ApiServerNeeds> = {
  name: 'apiserver',
  isWanted: ({ kubeconfig }) => kubeconfig !== undefined,
  open: async ({ status, ...parts }) => {
    const { ApiServer } = await import('./api-server');
    const apiServer = new ApiServer(parts);
    status.showPodSource(() => apiServer.source);
    return apiServer;
  },
};
