/** The browser's side of the page as texts. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** Set by scripts/build.mjs from `client/`. */
declare const __CPUSETD_PAGE__: PageAssets;

/** The assets that this bundle was built with. */
export function builtAssets(): PageAssets {
  return __CPUSETD_PAGE__;
}
