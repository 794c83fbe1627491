import type { Status, StatusChange } from '../../admin/model/status';

/** The status after a change; undefined while nothing full has come. */
export function applyChange(status: Status | undefined, change: StatusChange): Status | undefined {
  if (change.kind === 'full') return change.status;
  if (status === undefined) return undefined;
  switch (change.kind) {
    case 'node':
      return { ...status, node: change.node };
    case 'idle':
      return { ...status, idle: change.idle };
    case 'container-removed':
      return { ...status, containers: status.containers.filter(({ id }) => id !== change.id) };
    case 'container': {
      const others = status.containers.filter(({ id }) => id !== change.container.id);
      return { ...status, containers: [...others, change.container] };
    }
  }
}
