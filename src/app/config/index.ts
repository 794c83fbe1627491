export type { OptionsInForce } from './in-force';
export type { PlaceOf } from './setting';
export { loadConfig } from './load-config';
export { keyValues } from './types/cpu-types';
export { kubeconfigSource } from './types/kube-types';
export { filePath, goBoolean, httpUrl } from './types/net-types';
export { durationMs, hostPort, socketPath } from './types/system-types';
export { accept, matching, oneOf, quote, reject, wholeNumber, type ValueType } from './types/value-type';
export { describeDefault, envNameOf, listOffered, nameOf, OPTIONS, type Config, type OptionKey } from './options';
