import type { Logger } from 'pino';
import type { Alarms } from '../alarms/alarms';
import { messageOf } from '../alarms/faults';
import { readKnownLabels, rememberLabels, type Loaded, type LoadedConfig, type NodeLabels } from '../config';

export interface FollowedLabelsParts {
  readonly loaded: Loaded;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly log: Logger;
}

/**
 * The labels of our Node, which decide on groups of the config file. They come from the API server, and are remembered
 * for a start without it. While no group asks for labels nothing is remembered.
 */
export class FollowedLabels {
  /** Called when labels have changed that the options may depend on. */
  onChange: () => void = () => undefined;
  /** Resolves as soon as a group of the file asks for labels that the API server has. */
  readonly wanted: Promise<void>;
  private resolveWanted!: () => void;
  private latest: Loaded;
  private labels: NodeLabels | undefined;

  constructor(private readonly parts: FollowedLabelsParts) {
    this.latest = parts.loaded;
    this.labels = parts.loaded.node.labels;
    this.wanted = new Promise((resolve) => (this.resolveWanted = resolve));
    this.note(parts.loaded);
  }

  /** Puts the options together again, with the labels of now. */
  async load(): Promise<LoadedConfig> {
    const loaded = await this.parts.loaded.again(this.labels);
    if (loaded.ok) this.note(loaded);
    return loaded;
  }

  /** The API server has sent the labels. */
  accept(labels: NodeLabels): void {
    if (JSON.stringify(labels) === JSON.stringify(this.labels)) return;
    this.labels = labels;
    if (!this.areWanted) return;
    this.remember(labels);
    this.onChange();
  }

  private get areWanted(): boolean {
    const { labelsFrom } = this.latest.node;
    return labelsFrom === 'api-server' || labelsFrom === 'unknown';
  }

  private note(loaded: Loaded): void {
    this.latest = loaded;
    const { alarms } = this.parts;
    const { labelsFrom, name } = loaded.node;
    if (labelsFrom === 'unknown')
      alarms.raise(
        'node-labels',
        '',
        `groups of the config file ask for labels, and the API server has not sent those of the Node ${name}: these groups are left out`,
      );
    else alarms.clear('node-labels', '');
    if (!this.areWanted) return;
    this.resolveWanted();
    if (this.labels) this.remember(this.labels);
  }

  private remember(labels: NodeLabels): void {
    const { stateDir } = this.parts.loaded.config;
    if (JSON.stringify(readKnownLabels(stateDir)) === JSON.stringify(labels)) return;
    try {
      rememberLabels(stateDir, labels);
    } catch (error) {
      this.parts.log.warn(
        { because: messageOf(error) },
        'the labels of the Node are not remembered: a start without the API server has those of before',
      );
    }
  }
}
