items,count
b,1
c,2
