import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Frees all that nobody holds, so that what is measured next is what is kept, whenever the engine likes to clean up. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
