export { CpuSet, MAX_CPU_ID, type CpuRange } from './cpu-set';
export { CpuListError, parseCpuList, parseCpuRanges, tryParseCpuList } from './parse-cpu-list';
export { formatCpuMask, parseCpuMask } from './parse-cpu-mask';
