import { drawMap } from './draw-map';
import { formatLegend, listRemarks, summarize } from './legend';
import type { MachineView } from './machine-view';

/** The whole picture: what the machine has, the map, the legend. */
export function formatPicture(view: MachineView): string {
  const parts = [summarize(view), drawMap(view), formatLegend(view), listRemarks(view)];
  return parts.filter((part) => part !== '').join('\n');
}
