export type { OptionsInForce } from './in-force';
export type { PlaceOf } from './setting';
export { loadConfig } from './load-config';
export { describeDefault, envNameOf, listOffered, nameOf, OPTIONS, type Config, type OptionKey } from './options';
