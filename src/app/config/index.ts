export type { OptionsInForce } from './in-force';
export type { PlaceOf } from './setting';
export { loadConfig } from './load-config';
export { keyValues } from './types/cpu-types';
export { socketPath } from './types/system-types';
export { quote } from './types/value-type';
export { describeDefault, envNameOf, listOffered, nameOf, OPTIONS, type Config, type OptionKey } from './options';
