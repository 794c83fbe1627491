// The difference between a module that is run and one that is imported.
import { pathToFileURL } from 'node:url';

/**
 * True for the module that Node was started with.
 * @param {string | undefined} url the module's `import.meta.url`; a bundle has none
 * @returns {boolean}
 */
export const isMain = (url) => url === pathToFileURL(process.argv[1] ?? '').href;
