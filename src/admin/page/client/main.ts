import { explainCells } from './explain-cells';
import { filterRows } from './filter-rows';
import { followChanges } from './follow-changes';
import { askInPlace } from './ask-in-place';
import { showAges } from './show-ages';

document.documentElement.classList.add('script');
const cells = explainCells();
const rows = filterRows();
const ages = showAges();
const refresh = (): void => {
  cells.refresh();
  rows.refresh();
  ages.refresh();
};
followChanges(refresh, ages.setTime);
askInPlace();
