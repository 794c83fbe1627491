import { explainCells } from './explain-cells';
import { filterRows } from './filter-rows';
import { followChanges } from './follow-changes';
import { askInPlace } from './ask-in-place';
import { tellAges } from './tell-ages';

document.documentElement.classList.add('script');
const cells = explainCells();
const rows = filterRows();
const ages = tellAges();
const refresh = (): void => {
  cells.refresh();
  rows.refresh();
  ages.refresh();
};
followChanges(refresh, ages.setTime);
askInPlace();
