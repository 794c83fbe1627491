import { escapeJson } from '../../core/show-text';
import { describeMachine } from '../machine/describe-machine';
import { viewStatus } from '../machine/machine-view';
import type { AdminBackend } from '../model/backend';

/**
 * The status and the machine as JSON, in the shapes of `cpusetd status -o json` and `cpusetd topology -o json`. A
 * container is encoded once for each object of the backend, which keeps the object while it does not change.
 */
export class JsonStatus {
  private readonly texts = new WeakMap<object, string>();

  constructor(private readonly backend: Pick<AdminBackend, 'status' | 'topology'>) {}

  status(): string {
    const { node, containers, idle } = this.backend.status();
    return `{"node":${encode(node)},"containers":${this.list(containers)},"idle":${this.list(idle)}}\n`;
  }

  topology(): string {
    return `${encode(describeMachine(viewStatus(this.backend.topology())))}\n`;
  }

  private list(items: readonly object[]): string {
    const texts = items.map((item) => {
      const text = this.texts.get(item) ?? encode(item);
      this.texts.set(item, text);
      return text;
    });
    return `[${texts.join(',')}]`;
  }
}

function encode(value: object): string {
  return escapeJson(JSON.stringify(value));
}
