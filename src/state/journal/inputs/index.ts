export { readInput, type ReadInput } from './read-input';
