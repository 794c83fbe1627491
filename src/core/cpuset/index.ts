export { CpuSet, MAX_CPU_ID } from './cpu-set';
export { CpuListError, parseCpuList } from './parse-cpu-list';
