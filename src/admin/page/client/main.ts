import { explainCells } from './explain-cells';
import { filterRows } from './filter-rows';
import { followChanges } from './follow-changes';
import { askInPlace } from './ask-in-place';

document.documentElement.classList.add('script');
const cells = explainCells();
const rows = filterRows();
followChanges(() => {
  cells.refresh();
  rows.refresh();
});
askInPlace();
