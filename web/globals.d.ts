// Names that the scripts find on the page: those of the studio, of the libraries, and of NiceGUI.
export {};
declare global {
  var studio: any;
  var uPlot: any;
  var d3: any;
  var topojson: any;
  var Quasar: any;
  function emitEvent(name: string, detail?: any): void;
  function getElement(id: any): any;
}
