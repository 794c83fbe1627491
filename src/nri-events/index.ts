export { createCpuPlugin, type RuntimeHandler } from './cpu-plugin';
