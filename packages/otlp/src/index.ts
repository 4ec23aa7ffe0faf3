export { OtlpExporter, type OtlpExporterComponents, type OtlpExporterOptions } from './exporter.ts';
