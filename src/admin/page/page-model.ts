import type { JournalRecord } from '../../state/journal';
import { viewStatus } from '../machine/machine-view';
import type { AdminBackend } from '../model/backend';
import type { PageContent } from './render/fragments';
import { MapRenderer } from './render/map';
import { HistoryRows } from './render/history';
import { ContainerRows, renderNode, renderNumbers, renderParts } from './render/sections';
import { renderUse } from './render/use';

/**
 * Makes the content of the page. What has not changed since the content before is the same text, and costs a
 * comparison.
 */
export class PageModel {
  private readonly map = new MapRenderer();
  private readonly rows = new ContainerRows();
  private readonly history = new HistoryRows();

  constructor(private readonly backend: Pick<AdminBackend, 'status' | 'topology'>) {}

  render(records: readonly JournalRecord[]): PageContent {
    const status = this.backend.status();
    const { machine, cells, legend } = this.map.render(viewStatus(this.backend.topology()), status.containers);
    return {
      machine,
      cells,
      lists: [
        { id: 'head', items: [renderNode(status)] },
        { id: 'parts', items: renderParts(status) },
        { id: 'numbers', items: renderNumbers(status) },
        legend,
        { id: 'containers', items: this.rows.render(status) },
        { id: 'use', items: renderUse(status) },
        { id: 'history', items: this.history.render(records) },
      ],
    };
  }
}
